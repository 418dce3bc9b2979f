import { Type, type TProperties, type TSchema } from 'typebox'
import { noUnknownFields, type TypeOf, defineContract } from '../../contract.ts'
import { dataTypes } from '../../data-type.ts'
import { SingleLineText, NonNegativeInteger } from '../../field-types.ts'

export const delimiterNames = ['PIPE', 'COMMA', 'TAB', 'SEMI_COLON'] as const

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

/**
 * Matches an ASCII character other than letters, digits, underscore, quotes, backslash, point, minus, plus, NUL and
 * line ends.
 */
const signPattern = String.raw`[\x01-\x09\x0b\x0c\x0e-!#-&(-*,/:-@\[\]\^\x60{-~]`

const AsciiSign = Type.String({ minLength: 1, maxLength: 1, pattern: `^${signPattern}$`, examples: ['#'] })
const CsvDelimiter = Type.String({
  minLength: 1,
  maxLength: 10,
  pattern: `^(${delimiterNames.join('|')}|${signPattern})$`,
  examples: ['SEMI_COLON'],
  description: 'PIPE, COMMA, TAB, SEMI_COLON, or one ASCII sign.',
})

const digitCountFrom = (minimum: number) => Type.Optional(Type.Integer({ minimum, maximum: 38 }))
const LineCount = Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 }))

const CsvColumn = Type.Object(
  {
    /** The header text of the column. Set either this or `index`. */
    label: Type.Optional(Type.String({ maxLength: 1000 })),
    /** The position of the column, from 0. Set either this or `label`. */
    index: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_599 })),
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 63, description: 'The name of the column in the warehouse.' }),
    ),
    dataType: Type.Optional(
      Type.Enum([...dataTypes], { description: 'The type of the column, instead of the detected one.' }),
    ),
    precision: digitCountFrom(1),
    scale: digitCountFrom(0),
    dateFormat: Type.Optional(Type.Enum([...dateFormats])),
  },
  { ...noUnknownFields, title: 'CsvColumn' },
)

const csvOptionFields = {
  delimiter: Type.Optional(CsvDelimiter),
  quote: Type.Optional(Type.Enum(['DOUBLE', 'SINGLE', 'NONE'])),
  escape: Type.Optional(Type.Enum(['DOUBLED', 'BACKSLASH'])),
  strayQuotes: Type.Optional(
    Type.Enum(['REJECT', 'TEXT'], {
      description:
        'What happens to rows with broken quotes. TEXT treats an undoubled quote inside a quoted value as a part of the value, if the row can be read in only one such way. Default: REJECT.',
    }),
  ),
  comment: Type.Optional(AsciiSign),
  headerRow: Type.Optional(Type.Boolean()),
  headerLines: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
  skipLines: LineCount,
  footerLines: LineCount,
  trailingDelimiters: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_599,
      description: 'Number of delimiters at the end of every row after the last column.',
    }),
  ),
  trimSpaces: Type.Optional(
    Type.Boolean({
      description: 'Whether spaces at the start and the end of each field are removed, also outside its quotes.',
    }),
  ),
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
      description: 'The name of the encoding in the WHATWG Encoding Standard.',
    }),
  ),
  sheet: Type.Optional({
    ...SingleLineText,
    description: 'For a workbook: the name of the sheet. Default: the first visible sheet with rows.',
  }),
  sheetNumber: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'For a workbook: the position of the sheet, from 1, including hidden ones; replaces its name.',
    }),
  ),
  entry: Type.Optional({ ...SingleLineText, description: 'For a zip archive with several files: the file to read.' }),
  rowsUnder: Type.Optional({
    ...SingleLineText,
    description: 'For a JSON document: the key whose value contains the rows.',
  }),
}

/**
 * Options for reading a file of rows. Absent options are detected from the file; given options replace the detection.
 */
export const CsvOptions = defineContract(
  'CsvOptions',
  Type.Object(
    { ...csvOptionFields, columns: Type.Optional(Type.Array(CsvColumn, { maxItems: 1_600 })) },
    noUnknownFields,
  ),
)
export type CsvOptions = TypeOf<typeof CsvOptions>

export const csvOptions = Type.Optional(CsvOptions)

/** The options without `columns`, for the query string of an upload. */
export const csvOptionsInQuery = csvOptionFields

/** Returns the schema of a detected option with the confidence in it, which is 1 for a given option. */
const guessOf = <Value extends TSchema, More extends TProperties = {}>(value: Value, more: More = {} as More) =>
  Type.Object(
    { value, given: Type.Boolean(), confidence: Type.Number({ minimum: 0, maximum: 1 }), ...more },
    noUnknownFields,
  )

const NullValueList = Type.Array(Type.String({ maxLength: 50 }), { maxItems: 100 })

export const CsvGuesses = defineContract(
  'CsvGuesses',
  Type.Object(
    {
      delimiter: guessOf(Type.String({ maxLength: 10 })),
      quote: guessOf(Type.Enum(['DOUBLE', 'SINGLE', 'NONE'])),
      escape: guessOf(Type.Enum(['DOUBLED', 'BACKSLASH'])),
      recordEnds: guessOf(Type.Enum(['LF', 'CRLF', 'CR', 'MIXED', 'NONE'])),
      skipLines: guessOf(NonNegativeInteger),
      headerRow: guessOf(Type.Boolean()),
      headerLines: guessOf(NonNegativeInteger),
      trailingDelimiters: guessOf(NonNegativeInteger),
      trimSpaces: guessOf(Type.Boolean()),
      footerLines: guessOf(NonNegativeInteger),
      decimal: guessOf(Type.Enum(['POINT', 'COMMA'])),
      /**
       * Only the texts in `value` are read as missing values. Those in `suggested` probably also mean a missing value,
       * but are not applied.
       */
      nullValues: guessOf(NullValueList, { suggested: NullValueList }),
    },
    noUnknownFields,
  ),
)
export type CsvGuesses = TypeOf<typeof CsvGuesses>
