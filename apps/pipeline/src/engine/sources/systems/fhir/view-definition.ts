import { SourceProblem } from '../../source.ts'
import { BadRecord } from '../tables/flatten.ts'
import { type FhirPathExpression, fhirPath } from './fhirpath.ts'

/** A compiled ViewDefinition (SQL on FHIR) of one resource type. */
export interface ResourceView {
  name: string
  resource: string
  columns: readonly ViewColumn[]
  /** The rows of a resource, values in the order of the columns. Throws `BadRecord` where it has more values than a column holds. */
  rows(resource: unknown): ViewRow[]
}

export interface ViewColumn {
  name: string
  /** FHIR's own, where the view says it. */
  type?: string
}

type DefinitionFields = Readonly<Record<string, unknown>>
type RowFunction = (focus: unknown) => ViewRow[]

/** A compiled select: its columns in order, and the function that creates the rows of a focus. */
interface SelectPart {
  columns: ViewColumn[]
  rows: RowFunction
}

/** Reads a definition. Throws `SourceProblem` VIEW_WRONG for what is none, and NOT_SUPPORTED for FHIRPath that is not read. */
export function resourceView(definition: unknown): ResourceView {
  const view = fieldsOf(definition)
  const name = textOf(view['name']) ?? textOf(view['resource']) ?? ''
  const wrong = (what: string) =>
    new SourceProblem('VIEW_WRONG', `The view "${name.slice(0, 100)}" cannot be made: ${what}.`)
  /** `%rowIndex` is where the innermost list is just now. */
  const variables: Record<string, unknown> = { rowIndex: 0, ...constants(view['constant'], wrong) }

  const path = (value: unknown): FhirPathExpression => {
    if (typeof value !== 'string' || value === '') throw wrong('a path in it is no text')
    return fhirPath(value, variables)
  }

  function part(select: DefinitionFields): SelectPart {
    const own = listOf(select['column'], wrong).map((column): SelectPart => columnOf(column, path, wrong))
    const below = listOf(select['select'], wrong).map(part)
    const union = listOf(select['unionAll'], wrong).map(part)
    const [first] = union
    if (union.some(({ columns }) => names(columns) !== names(first!.columns)))
      throw wrong('the parts of a unionAll have other columns, or in another order')
    const parts = [...own, ...below]
    if (first)
      parts.push({ columns: first.columns, rows: (focus) => stacked(union.values().map(({ rows }) => rows(focus))) })
    if (parts.length === 0) throw wrong('a select has no columns')
    const whole: SelectPart = {
      columns: parts.flatMap(({ columns }) => columns),
      rows: (focus) => cross(parts.map(({ rows }) => rows(focus))),
    }
    return { columns: whole.columns, rows: eachOf(select, whole.rows) }
  }

  /** The rows for each of what a select walks through. */
  function eachOf(select: DefinitionFields, rows: RowFunction): RowFunction {
    const { forEach, forEachOrNull, repeat } = select
    if (forEach === undefined && forEachOrNull === undefined && repeat === undefined) return rows
    const found =
      repeat === undefined ? path(forEach ?? forEachOrNull) : repeated(listOf(repeat, wrong, true).map(path))
    return (focus) => {
      const items = found(focus)
      const all = items.length === 0 && forEachOrNull !== undefined ? [{}] : items
      const outer = variables['rowIndex']
      const made = stacked(
        all.entries().map(([index, item]) => {
          variables['rowIndex'] = index
          return rows(item)
        }),
      )
      variables['rowIndex'] = outer
      return made
    }
  }

  const resource = textOf(view['resource'])
  if (resource === undefined) throw wrong('it does not say of which resource')
  const whole = part({ select: view['select'] })
  const twice = whole.columns.find((one, index) => whole.columns.findIndex((other) => other.name === one.name) < index)
  if (twice) throw wrong(`the column "${twice.name}" is there twice`)
  const wanted = listOf(view['where'], wrong).map((where) => condition(path(fieldsOf(where)['path']), wrong))
  return {
    name,
    resource,
    columns: whole.columns,
    rows(focus) {
      variables['rowIndex'] = 0
      return wanted.every((holds) => holds(focus)) ? whole.rows(focus) : []
    },
  }
}

type InvalidView = (what: string) => SourceProblem

function columnOf(column: unknown, path: (value: unknown) => FhirPathExpression, wrong: InvalidView): SelectPart {
  const { name, path: where, type, collection } = fieldsOf(column)
  if (typeof name !== 'string' || !/^[A-Za-z_]\w{0,254}$/.test(name))
    throw wrong('a column needs a name of letters, digits and underscores')
  const values = path(where)
  const known = textOf(type)
  return {
    columns: [{ name, ...(known !== undefined && collection !== true && { type: known }) }],
    rows(focus) {
      const found = values(focus)
      if (collection === true) return [[found]]
      if (found.length > 1)
        throw new BadRecord(`has ${found.length} values where the view has one: say collection, or first()`, name)
      return [[found[0] ?? null]]
    },
  }
}

/** Deeper than anything is in itself in a resource: there a path leads to where it begins. */
const deepest = 100

/** All that paths lead to, and what they lead to from there. */
function repeated(paths: readonly FhirPathExpression[]): FhirPathExpression {
  return (focus) => {
    const found: unknown[] = []
    const walk = (from: unknown, depth: number): void => {
      for (const path of paths)
        for (const one of path(from)) {
          if (depth > deepest || found.length === maxRows)
            throw new BadRecord(`has no end, or more than ${maxRows} parts, where the view repeats`)
          found.push(one)
          walk(one, depth + 1)
        }
    }
    walk(focus, 1)
    return found
  }
}

function condition(path: FhirPathExpression, wrong: InvalidView): (focus: unknown) => boolean {
  return (focus) => {
    const [value = false, ...others] = path(focus)
    if (typeof value !== 'boolean' || others.length > 0) throw wrong('a path of its where is not true or false')
    return value
  }
}

function constants(given: unknown, wrong: InvalidView): Record<string, unknown> {
  return Object.fromEntries(
    listOf(given, wrong).map((constant) => {
      const { name, ...value } = fieldsOf(constant)
      const [key = ''] = Object.keys(value).filter((one) => /^value[A-Z]/.test(one))
      if (typeof name !== 'string' || key === '') throw wrong('a constant needs a name and a value')
      return [name, value[key]]
    }),
  )
}

const names = (columns: readonly ViewColumn[]): string => columns.map(({ name }) => name).join()

const fieldsOf = (value: unknown): DefinitionFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as DefinitionFields) : {}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Objects, unless `texts` are wanted. */
function listOf(value: unknown, wrong: InvalidView, texts = false): DefinitionFields[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((one) => texts || (typeof one === 'object' && one !== null))) return value
  throw wrong('where a list belongs there is something else')
}

/** The values of a row, in the order of a view's columns. */
export type ViewRow = readonly unknown[]

/** Rows that one resource may come to. */
const maxRows = 100_000
/** Values in all rows of one resource, where its view is wide: they are made at once, in 0.3 seconds and 60 MB. */
const maxRowValues = 500_000

/** Each row of one with each of the others: what stands side by side in a view. Throws `BadRecord` where that is too many. */
function cross(parts: readonly (readonly ViewRow[])[]): ViewRow[] {
  const count = parts.reduce((product, part) => product * part.length, 1)
  const width = parts.reduce((sum, part) => sum + (part[0]?.length ?? 0), 0)
  assertRowLimit(count, width, ': its lists are side by side in the view')
  // Columns alone, which most crossings are of.
  if (count === 1) return [parts.flatMap(([row]) => row!)]
  // The last part changes fastest. Each row is made once: to put one part to another would copy it for each column.
  const steps = parts.map((_, index) => parts.slice(index + 1).reduce((product, part) => product * part.length, 1))
  return Array.from({ length: count }, (_, at) =>
    parts.flatMap((part, index) => part[Math.floor(at / steps[index]!) % part.length]!),
  )
}

/** Rows one part under the other. Throws `BadRecord` where they become too many, before there are more. */
function stacked(parts: Iterable<readonly ViewRow[]>): ViewRow[] {
  const rows: ViewRow[] = []
  for (const part of parts) {
    assertRowLimit(rows.length + part.length, part[0]?.length ?? 0, ' of the view')
    for (const row of part) rows.push(row)
  }
  return rows
}

function assertRowLimit(rows: number, width: number, where: string): void {
  if (rows > maxRows) throw new BadRecord(`comes to more than ${maxRows} rows${where}`)
  if (rows * width > maxRowValues)
    throw new BadRecord(`comes to more than ${maxRowValues} values, ${rows} rows or more of ${width} columns${where}`)
}
