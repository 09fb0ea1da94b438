/** What comes after a cursor in a list that is sorted newest first. In this form, one range of the index is read. */
export function beforeKey([createdAt, id]: readonly [number, string]) {
  return { createdAt: { $lte: createdAt }, $or: [{ createdAt: { $lt: createdAt } }, { id: { $lt: id } }] };
}
