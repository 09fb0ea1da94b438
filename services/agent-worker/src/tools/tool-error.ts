/** Why a tool failed, in one short sentence for the model. Never holds a header, a secret or a stack. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
