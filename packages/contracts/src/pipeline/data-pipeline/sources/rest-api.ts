import { Type } from 'typebox'
import { noUnknownFields } from '../../../contract.ts'
import { dataTypes } from '../../../data-type.ts'
import { requiredBecause } from '../../../field-types.ts'
import { describeField, SourceName } from '../form-field.ts'

/** The ways in which a REST API divides its records into pages. */
export const restPagingTypes = ['LINK_HEADER', 'NEXT_LINK', 'CURSOR', 'PAGE', 'OFFSET'] as const

/** The kinds of values with which an increment can continue. */
export const restCursorTypes = ['TIMESTAMP', 'UNIX_SECONDS', 'UNIX_MILLISECONDS', 'NUMBER'] as const

/** The formats in which a request can send a time as the cursor. */
export const restTimeFormats = ['TIMESTAMP', 'DATE', 'UNIX_SECONDS', 'UNIX_MILLISECONDS'] as const

/** The path of a value in a response or record: field names, or list positions from 0, separated by dots. */
const JsonPath = Type.String({ minLength: 1, maxLength: 500, pattern: '^\\P{Cc}*$' })
const ParameterName = Type.String({ minLength: 1, maxLength: 255, pattern: '^\\P{Cc}*$' })
const ParameterText = Type.String({ maxLength: 8_000, pattern: '^\\P{Cc}*$' })

const Query = Type.Record(
  Type.String({ minLength: 1, maxLength: 255 }),
  Type.Union([
    ParameterText,
    Type.Number({ minimum: -1e15, maximum: 1e15 }),
    Type.Boolean(),
    Type.Array(ParameterText, { maxItems: 1_000 }),
  ]),
  { maxProperties: 100 },
)

const Headers = Type.Record(
  Type.String({ minLength: 1, maxLength: 100 }),
  Type.String({ maxLength: 4_000, pattern: '^\\P{Cc}*$' }),
  { maxProperties: 50 },
)

const RestPaging = Type.Object(
  {
    type: requiredBecause(
      describeField(
        Type.Enum([...restPagingTypes]),
        'Paging',
        'LINK_HEADER follows `rel="next"` of the header `Link`. NEXT_LINK follows a link in the response. CURSOR sends a value of the response with the next request. PAGE counts pages. OFFSET skips records.',
        'NEXT_LINK',
      ),
      'each API has its own way to request the next page',
    ),
    path: Type.Optional(
      describeField(
        JsonPath,
        'Path',
        'NEXT_LINK: the path of the link in the response. CURSOR: the path of the cursor. The last page has no value there.',
        'links.next',
      ),
    ),
    lastRecordField: Type.Optional(
      describeField(
        JsonPath,
        'Field of the last record',
        'CURSOR, instead of path: the field of the last record of a page whose value is the cursor.',
        'id',
      ),
    ),
    parameter: Type.Optional(
      describeField(
        ParameterName,
        'Parameter',
        'CURSOR, PAGE and OFFSET: the parameter for the cursor, the number of the page, or the number of records to skip.',
        'page',
      ),
    ),
    firstPage: Type.Optional(
      describeField(
        Type.Integer({ minimum: 0, maximum: 1 }),
        'First page',
        'PAGE: the number of the first page. Default: 1.',
        1,
      ),
    ),
    sizeParameter: Type.Optional(
      describeField(ParameterName, 'Parameter of the page size', 'The parameter for the records per page.', 'per_page'),
    ),
    size: Type.Optional(
      describeField(Type.Integer({ minimum: 1, maximum: 100_000 }), 'Page size', 'The records per page.', 100),
    ),
    hasMore: Type.Optional(
      describeField(
        JsonPath,
        'More pages',
        'CURSOR, PAGE and OFFSET: the path of a boolean in the response that is false on the last page.',
        'has_more',
      ),
    ),
    total: Type.Optional(
      describeField(
        JsonPath,
        'Total',
        'The path of the number of all records in the response. If fewer are returned, the run is a WARNING.',
        'meta.total',
      ),
    ),
  },
  { ...noUnknownFields, title: 'RestPaging' },
)

const RestIncrement = Type.Object(
  {
    cursorField: requiredBecause(
      describeField(
        JsonPath,
        'Cursor field',
        'The field that each change of a record increases, such as the time of its last change.',
        'updated_at',
      ),
      'an increment continues from its largest value',
    ),
    parameter: requiredBecause(
      describeField(
        ParameterName,
        'Parameter',
        'The parameter by which the API returns only records that changed at this time or later.',
        'updated_since',
      ),
      'an increment sends the largest value of the cursor field in it',
    ),
    cursorType: Type.Optional(
      describeField(
        Type.Enum([...restCursorTypes]),
        'Type of the cursor',
        'TIMESTAMP is text such as `2026-01-31T12:30:00Z` or `2026-01-31`. NUMBER is an integer. Default: TIMESTAMP.',
        'UNIX_SECONDS',
      ),
    ),
    sentAs: Type.Optional(
      describeField(
        Type.Enum([...restTimeFormats]),
        'Sent as',
        'The format of a time in the parameter. Default: as in the records.',
        'DATE',
      ),
    ),
    template: Type.Optional(
      describeField(
        Type.String({ minLength: 8, maxLength: 1_000, pattern: '\\{cursor\\}' }),
        'Template',
        'The value of the parameter, in which `{cursor}` is replaced. Default: `{cursor}`.',
        'lastUpdated ge "{cursor}"',
      ),
    ),
    firstValue: Type.Optional(
      describeField(
        ParameterText,
        'First value',
        'The value of the parameter when everything is read. Default: the parameter is not sent.',
        '2000-01-01',
      ),
    ),
    lookback: Type.Optional(
      describeField(
        Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
        'Look back',
        'How far before the largest cursor an increment starts to read: seconds for times, otherwise a difference of numbers. Default: 300 seconds, or 1.',
        600,
      ),
    ),
  },
  { ...noUnknownFields, title: 'RestIncrement' },
)

const RestColumn = Type.Object(
  {
    name: requiredBecause(
      describeField(JsonPath, 'Path', 'The path of the field in a record.', 'address.city'),
      'it is the field that the column contains',
    ),
    type: Type.Optional(
      describeField(
        Type.Enum([...dataTypes]),
        'Type',
        'The type of the column. Default: inferred from all values.',
        'TEXT',
      ),
    ),
  },
  { ...noUnknownFields, title: 'RestColumn' },
)

/** The field `restApi`: how to read the records of a REST API. */
export const RestApi = Type.Object(
  {
    method: Type.Optional(describeField(Type.Enum(['GET', 'POST']), 'Method', 'Default: GET.', 'GET')),
    path: Type.Optional(
      describeField(
        Type.String({ minLength: 1, maxLength: 2_000, pattern: '^[^?#\\\\\\p{Cc}]+$' }),
        'Path',
        'The path after the address. The value of a variable becomes a part of one segment.',
        '/v1/visits',
      ),
    ),
    query: Type.Optional(
      describeField(Query, 'RestQuery', 'The query parameters. A list becomes several parameters of the same name.', {
        country: 'KE',
      }),
    ),
    headers: Type.Optional(
      describeField(Headers, 'RestHeaders', 'Further headers. Write a secret as a secured variable, `${NAME}`.', {
        'Api-Version': '2026-01-01',
      }),
    ),
    body: Type.Optional(
      describeField(Type.Object({}, { maxProperties: 200 }), 'RestBody', 'The JSON body of a POST request.', {
        status: 'closed',
      }),
    ),
    parametersIn: Type.Optional(
      describeField(
        Type.Enum(['QUERY', 'BODY']),
        'Parameters in',
        'The part of the request with the parameters of the paging and the increment. In a body, their names are paths. Default: QUERY.',
        'QUERY',
      ),
    ),
    records: Type.Optional(
      describeField(
        JsonPath,
        'Records',
        'The path of the list of records in a response. Default: the response is the list.',
        'data.items',
      ),
    ),
    key: Type.Optional(
      describeField(
        Type.Array(SourceName, { minItems: 1, maxItems: 32, uniqueItems: true }),
        'Key',
        'The fields that identify a record. Increments need a key.',
        ['id'],
      ),
    ),
    columns: Type.Optional(
      describeField(
        Type.Array(RestColumn, { maxItems: 1_600 }),
        'Columns',
        'Columns that exist even if no record has a value in them. Other fields become columns too.',
        [{ name: 'id', type: 'BIGINT' }],
      ),
    ),
    paging: Type.Optional(
      describeField(RestPaging, 'RestPaging', 'The way to request the next page. Default: a single request.', {
        type: 'NEXT_LINK',
        path: 'links.next',
      }),
    ),
    increment: Type.Optional(
      describeField(
        RestIncrement,
        'RestIncrement',
        'Allows incremental runs, which read new and changed records only. Without it, each run reads everything.',
        { cursorField: 'updated_at', parameter: 'updated_since' },
      ),
    ),
  },
  {
    ...noUnknownFields,
    title: 'RestApi',
    description: 'Reads the records of a REST API at the address, instead of calling a function.',
    examples: [{ path: '/v1/visits', records: 'data', key: ['id'], paging: { type: 'NEXT_LINK', path: 'links.next' } }],
  },
)
