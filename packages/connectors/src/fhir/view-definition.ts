import { SourceProblem } from '@sluice/row-stream'
import { BadRecord } from '../http-connector/records/flatten-record.ts'
import { type FhirPathExpression, compileFhirPath } from './fhirpath.ts'

/** A compiled ViewDefinition (SQL on FHIR) of one resource type. */
export interface ResourceView {
  name: string
  resource: string
  columns: readonly ViewColumn[]
  /**
   * Returns the rows of a resource, with values in the order of the columns. Throws `BadRecord` if a column without
   * `collection` has several values.
   */
  rows(resource: unknown): ViewRow[]
}

export interface ViewColumn {
  name: string
  /** The FHIR type that the view declares for the column. */
  type?: string
}

type DefinitionFields = Readonly<Record<string, unknown>>
type RowFunction = (focus: unknown) => ViewRow[]

/** A compiled `select` or `column`: its columns, and a function that creates the rows for a FHIR element. */
interface SelectPart {
  columns: ViewColumn[]
  rows: RowFunction
}

/**
 * Compiles a ViewDefinition. Throws `SourceProblem` VIEW_WRONG if it is invalid, and NOT_SUPPORTED for unsupported
 * FHIRPath.
 */
export function parseView(definition: unknown): ResourceView {
  const view = toObject(definition)
  const name = toText(view['name']) ?? toText(view['resource']) ?? ''
  const createProblem = (reason: string) =>
    new SourceProblem('VIEW_WRONG', `The view "${name.slice(0, 100)}" is invalid: ${reason}. Correct it.`)
  /** The values of FHIRPath variables. `%rowIndex` is the current index in the innermost `forEach`. */
  const variables: Record<string, unknown> = { rowIndex: 0, ...readConstants(view['constant'], createProblem) }

  const compile = (value: unknown): FhirPathExpression => {
    if (typeof value !== 'string' || value === '') throw createProblem('each path must be a non-empty text')
    return compileFhirPath(value, variables)
  }

  /** Compiles a select, which combines the rows of all its parts. */
  function compileSelect(select: DefinitionFields): SelectPart {
    const columnParts = toList(select['column'], createProblem).map((column) =>
      compileColumn(column, compile, createProblem),
    )
    const nestedSelects = toList(select['select'], createProblem).map(compileSelect)
    const unionPart = compileUnion(select)
    const parts = [...columnParts, ...nestedSelects, ...(unionPart ? [unionPart] : [])]
    if (parts.length === 0) throw createProblem('a select has no columns')
    const joinRows: RowFunction = (focus) => joinParts(parts.map(({ rows }) => rows(focus)))
    return { columns: parts.flatMap(({ columns }) => columns), rows: applyIteration(select, joinRows) }
  }

  /** Compiles `unionAll` of a select, which concatenates the rows of its parts. Returns undefined if it is absent. */
  function compileUnion(select: DefinitionFields): SelectPart | undefined {
    const parts = toList(select['unionAll'], createProblem).map(compileSelect)
    const [firstPart] = parts
    if (!firstPart) return undefined
    const { columns } = firstPart
    if (parts.some((part) => joinNames(part.columns) !== joinNames(columns)))
      throw createProblem('all parts of a unionAll need the same columns in the same order')
    return { columns, rows: (focus) => concatenateRows(parts.values().map(({ rows }) => rows(focus))) }
  }

  /**
   * Applies `forEach`, `forEachOrNull` or `repeat` of a select: the result creates the rows for each element of the
   * iteration. Returns `rows` unchanged if the select has none of them.
   */
  function applyIteration(select: DefinitionFields, rows: RowFunction): RowFunction {
    const { forEach, forEachOrNull, repeat } = select
    if (forEach === undefined && forEachOrNull === undefined && repeat === undefined) return rows
    const listElements =
      repeat === undefined
        ? compile(forEach ?? forEachOrNull)
        : compileRepeat(toList(repeat, createProblem, true).map(compile))
    return (focus) => {
      const elements = listElements(focus)
      // If the collection is empty, `forEachOrNull` returns the row of an empty element.
      const iterated = elements.length === 0 && forEachOrNull !== undefined ? [{}] : elements
      const outerRowIndex = variables['rowIndex']
      const rowsOfElements = iterated.entries().map(([index, element]) => {
        variables['rowIndex'] = index
        return rows(element)
      })
      const allRows = concatenateRows(rowsOfElements)
      variables['rowIndex'] = outerRowIndex
      return allRows
    }
  }

  const resource = toText(view['resource'])
  if (resource === undefined) throw createProblem('"resource" is missing')
  const root = compileSelect({ select: view['select'] })
  const duplicateColumn = root.columns.find(
    (column, index) => root.columns.findIndex(({ name }) => name === column.name) < index,
  )
  if (duplicateColumn) throw createProblem(`it has two columns "${duplicateColumn.name}"`)
  const conditions = toList(view['where'], createProblem).map((where) =>
    compileCondition(compile(toObject(where)['path']), createProblem),
  )
  return {
    name,
    resource,
    columns: root.columns,
    rows(focus) {
      variables['rowIndex'] = 0
      return conditions.every((isFulfilled) => isFulfilled(focus)) ? root.rows(focus) : []
    },
  }
}

type CreateProblem = (reason: string) => SourceProblem

/**
 * Compiles a column. Its function `rows` returns one row with one value: the list of all values if the column has
 * `collection: true`, otherwise the only value or null. Throws `BadRecord` for several values without `collection`.
 */
function compileColumn(
  column: unknown,
  compilePath: (value: unknown) => FhirPathExpression,
  createProblem: CreateProblem,
): SelectPart {
  const { name, path: columnPath, type, collection } = toObject(column)
  const isCollection = collection === true
  if (typeof name !== 'string' || !/^[A-Za-z_]\w{0,254}$/.test(name))
    throw createProblem('a column needs a name of letters, digits and underscores')
  const getValues = compilePath(columnPath)
  const declaredType = toText(type)
  return {
    columns: [{ name, ...(declaredType !== undefined && !isCollection && { type: declaredType }) }],
    rows(focus) {
      const values = getValues(focus)
      if (!isCollection && values.length > 1)
        throw new BadRecord(`has ${values.length} values for one column: use collection or first() in the view`, name)
      const value = isCollection ? values : (values[0] ?? null)
      const row = [value]
      return [row]
    },
  }
}

/**
 * The maximum recursion depth. Real resources are nested less deep, so a greater depth means that the paths form a
 * cycle.
 */
const maxRepeatDepth = 100

/**
 * Returns a function that collects the values of the paths, then the values of the same paths on each of these values,
 * and so on. Throws `BadRecord` for a cycle or too many values.
 */
function compileRepeat(paths: readonly FhirPathExpression[]): FhirPathExpression {
  return (focus) => {
    const values: unknown[] = []
    const walk = (element: unknown, depth: number): void => {
      for (const getValues of paths)
        for (const item of getValues(element)) {
          if (depth > maxRepeatDepth || values.length === maxRows)
            throw new BadRecord(`has a cycle, or more than ${maxRows} elements, in a repeat of the view`)
          values.push(item)
          walk(item, depth + 1)
        }
    }
    walk(focus, 1)
    return values
  }
}

function compileCondition(path: FhirPathExpression, createProblem: CreateProblem): (focus: unknown) => boolean {
  return (focus) => {
    const [value = false, ...otherValues] = path(focus)
    if (typeof value !== 'boolean' || otherValues.length > 0)
      throw createProblem('each path in "where" must return a boolean')
    return value
  }
}

/** Returns the constants of a view by name. The field with the value is named by its type, such as `valueString`. */
function readConstants(constants: unknown, createProblem: CreateProblem): Record<string, unknown> {
  return Object.fromEntries(
    toList(constants, createProblem).map((constant) => {
      const { name, ...value } = toObject(constant)
      const valueKey = Object.keys(value).find((key) => /^value[A-Z]/.test(key))
      if (typeof name !== 'string' || valueKey === undefined) throw createProblem('a constant needs a name and a value')
      return [name, value[valueKey]]
    }),
  )
}

const joinNames = (columns: readonly ViewColumn[]): string => columns.map(({ name }) => name).join()

const toObject = (value: unknown): DefinitionFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as DefinitionFields) : {}

const toText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/**
 * Returns a list of objects, or an empty list for undefined. With `mayContainTexts`, its items can have any type.
 * Throws for any other value.
 */
function toList(value: unknown, createProblem: CreateProblem, mayContainTexts = false): DefinitionFields[] {
  if (value === undefined) return []
  const isObject = (item: unknown) => typeof item === 'object' && item !== null
  if (Array.isArray(value) && (mayContainTexts || value.every(isObject))) return value
  throw createProblem('"column", "select", "unionAll", "where", "constant" and "repeat" must be lists')
}

/** The values of a row, in the order of a view's columns. */
export type ViewRow = readonly unknown[]

/** Maximum number of rows of one resource. */
const maxRows = 100_000
/**
 * The maximum number of values in all rows of one resource. These rows are in memory at the same time; 500,000 values
 * take 0.3 seconds and 60 MB.
 */
const maxRowValues = 500_000

/**
 * Combines each row of each part with each row of the other parts (cross join). The rows of the last part change
 * fastest. Throws `BadRecord` if the result has too many rows.
 */
function joinParts(parts: readonly (readonly ViewRow[])[]): ViewRow[] {
  const rowCount = countCombinations(parts)
  const width = parts.reduce((sum, part) => sum + (part[0]?.length ?? 0), 0)
  assertRowLimit(rowCount, width, ', because the view combines each element of one list with each element of another')
  // The usual case: each part is a single column with one value.
  if (rowCount === 1) return [parts.flatMap(([row]) => row!)]
  // In consecutive rows of the result, the row of a part stays the same for all combinations of the parts after it.
  const repetitions = parts.map((_, index) => countCombinations(parts.slice(index + 1)))
  return Array.from({ length: rowCount }, (_, rowIndex) =>
    parts.flatMap((part, partIndex) => part[Math.floor(rowIndex / repetitions[partIndex]!) % part.length]!),
  )
}

/** Returns the number of ways to select one row of each part. */
const countCombinations = (parts: readonly (readonly ViewRow[])[]): number =>
  parts.reduce((product, part) => product * part.length, 1)

/** Concatenates the rows of all parts. Throws `BadRecord` if there are too many. */
function concatenateRows(parts: Iterable<readonly ViewRow[]>): ViewRow[] {
  const rows: ViewRow[] = []
  for (const part of parts) {
    assertRowLimit(rows.length + part.length, part[0]?.length ?? 0, ' of the view')
    for (const row of part) rows.push(row)
  }
  return rows
}

function assertRowLimit(rows: number, width: number, location: string): void {
  if (rows > maxRows) throw new BadRecord(`produces more than ${maxRows} rows${location}`)
  if (rows * width > maxRowValues)
    throw new BadRecord(
      `produces more than ${maxRowValues} values, in at least ${rows} rows of ${width} columns${location}`,
    )
}
