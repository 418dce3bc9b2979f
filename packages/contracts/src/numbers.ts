import { Type } from 'typebox'

/** Whole, and no more than every program that reads JSON can tell apart. */
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** How much there is of something: bytes, milliseconds, rows a second. */
export const Amount = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** Whatever number stands in people's data. */
export const AnyNumber = Type.Number({ minimum: -Number.MAX_VALUE, maximum: Number.MAX_VALUE })
