import { compile } from 'html-to-text';

const UNREAD = ['head', 'iframe', 'img', 'noscript', 'object', 'script', 'style', 'svg', 'template'];
const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];

const toText = compile({
  wordwrap: false,
  limits: { maxDepth: 200, ellipsis: '…' },
  selectors: [
    ...UNREAD.map((selector) => ({ selector, format: 'skip' })),
    ...HEADINGS.map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    { selector: 'td', format: 'inlineSurround', options: { suffix: ' ' } },
    { selector: 'th', format: 'inlineSurround', options: { suffix: ' ' } },
    { selector: 'tr', format: 'block' },
  ],
});

/** What a person would read of a page: its title, then its text with links. */
export function htmlText(html: string): string {
  const title = /<title[^>]{0,200}>([^<]{1,500})/i.exec(html)?.[1];
  const text = toText(html)
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return title === undefined ? text : `${toText(title).trim()}\n\n${text}`;
}
