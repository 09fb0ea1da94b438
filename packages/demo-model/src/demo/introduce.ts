import type { Language } from './language.ts';

/** Heads every answer in words, so that none can be taken for a language model's. */
export function label(language: Language): string {
  return language === 'zh' ? '[演示模型] ' : '[demo model] ';
}

/** What the demo model says when it has no script for a text. */
export function introduce(language: Language, tools: readonly string[]): string {
  return language === 'zh' ? chinese(tools) : english(tools);
}

function english(tools: readonly string[]): string {
  const offered = tools.length === 0 ? '' : ` Tools offered to me here: ${tools.join(', ')}.`;
  return (
    "This is Turnwire's demo model: scripted answers, not a language model. It calls tools when asked plainly, for " +
    `example "What's the weather in Paris?", "What is 12*(3+4)?" or "What time is it in Tokyo?".${offered} ` +
    'For real answers set OPENAI_API_KEY (and OPENAI_BASE_URL for another provider, OPENAI_MODEL for the model) and ' +
    'start Turnwire again.'
  );
}

function chinese(tools: readonly string[]): string {
  const offered = tools.length === 0 ? '' : `这里可用的工具：${tools.join('、')}。`;
  return (
    '这是 Turnwire 的演示模型：回答来自脚本，并不是语言模型。直接提出时它会调用工具，例如“杭州天气怎么样”“12 乘以 7 是多少”' +
    `“东京现在几点”。${offered}要使用真正的模型，请设置 OPENAI_API_KEY（其他服务商另设 OPENAI_BASE_URL，模型名用 ` +
    'OPENAI_MODEL），然后重新启动 Turnwire。'
  );
}
