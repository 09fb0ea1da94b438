/**
 * Replaces `{{name}}` by its value, in one pass: what a value contains is never expanded again. Unknown names stay as
 * they are.
 */
export function expandPrompt(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{\s*([a-z_]+)\s*\}\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? placeholder) : placeholder,
  );
}
