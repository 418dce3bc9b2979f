import { Type } from 'typebox'
import { closed, type TypeOf, contract } from '../../contract.ts'
import { dataTypes } from '../../data-type.ts'
import { Line } from '../../named.ts'

export const delimiters = ['PIPE', 'COMMA', 'TAB', 'SEMI_COLON'] as const

export const dateFormats = [
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'YYYYMMDD',
  'DD.MM.YYYY',
  'DD/MM/YYYY',
  'DD-MM-YYYY',
  'MM/DD/YYYY',
  'MM-DD-YYYY',
] as const

/** ASCII without letters, digits, quotes, backslash, point, minus, plus, NUL and line ends. */
const sign = String.raw`[\x01-\x09\x0b\x0c\x0e-!#-&(-*,/:-@\[\]-\x60{-~]`

const Sign = Type.String({ minLength: 1, maxLength: 1, pattern: `^${sign}$`, examples: ['#'] })
const Delimiter = Type.String({
  minLength: 1,
  maxLength: 10,
  pattern: `^(${delimiters.join('|')}|${sign})$`,
  examples: ['SEMI_COLON'],
  description: 'PIPE, COMMA, TAB, SEMI_COLON, or one ASCII sign.',
})

const Digits = (minimum: number) => Type.Optional(Type.Integer({ minimum, maximum: 38 }))
const Lines = Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 }))

const CsvColumn = Type.Object(
  {
    /** Its text in the header. Either this or its place. */
    label: Type.Optional(Type.String({ maxLength: 1000 })),
    /** Its place, from 0. */
    index: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_599 })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 63, description: 'Its name in the warehouse.' })),
    dataType: Type.Optional(Type.Enum([...dataTypes], { description: 'Instead of the type that its values tell.' })),
    precision: Digits(1),
    scale: Digits(0),
    dateFormat: Type.Optional(Type.Enum([...dateFormats])),
  },
  { ...closed, title: 'CsvColumn' },
)

/** How a file of rows is read. Everything is guessed from the file where it is absent; what is given is never overruled. */
export const CsvOptions = contract(
  'CsvOptions',
  Type.Object(
    {
      delimiter: Type.Optional(Delimiter),
      quote: Type.Optional(Type.Enum(['DOUBLE', 'SINGLE', 'NONE'])),
      escape: Type.Optional(Type.Enum(['DOUBLED', 'BACKSLASH'])),
      comment: Type.Optional(Sign),
      headerRow: Type.Optional(Type.Boolean()),
      headerLines: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
      skipLines: Lines,
      footerLines: Lines,
      nullValues: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 50 }), { maxItems: 20, uniqueItems: true }),
      ),
      decimal: Type.Optional(Type.Enum(['POINT', 'COMMA'])),
      encoding: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 40,
          pattern: '^[A-Za-z0-9._:-]+$',
          examples: ['windows-1252'],
          description: 'As the Encoding Standard calls it.',
        }),
      ),
      sheet: Type.Optional({ ...Line, description: 'Of a workbook: the sheet; its first one when absent.' }),
      entry: Type.Optional({ ...Line, description: 'Of a zip archive: the file in it, where there are several.' }),
      columns: Type.Optional(Type.Array(CsvColumn, { maxItems: 1_600 })),
    },
    closed,
  ),
)
export type CsvOptions = TypeOf<typeof CsvOptions>

export const csvOptions = Type.Optional(CsvOptions)
