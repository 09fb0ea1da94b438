/** The package has no types of its own; this is what is used of it. */
declare module 'html-to-text' {
  interface Selector {
    readonly selector: string;
    readonly format?: string;
    readonly options?: Readonly<Record<string, unknown>>;
  }
  export function compile(options: {
    readonly wordwrap: number | false;
    readonly selectors: readonly Selector[];
    readonly limits: { readonly maxDepth: number; readonly ellipsis: string };
  }): (html: string) => string;
}
