/** A value has no place in its column. The message follows the column's name: "holds a NUL character, …". */
export class Misfit extends Error {
  override readonly name = 'Misfit'
}
