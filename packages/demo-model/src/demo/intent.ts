/** Something in a user's text that asks for a tool. */
export type Intent = {
  tool: string;
  /** Where in the text it stands, roughly: calls are made in this order. */
  at: number;
  /** What it is about (a place, an expression, a time zone); absent if the text does not say. */
  subject?: string;
};

/** Gives every subject that a text asks this tool for; empty if it does not ask. */
export type IntentFinder = (text: string) => readonly Omit<Intent, 'tool'>[];
