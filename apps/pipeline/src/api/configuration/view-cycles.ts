import type { ConfiguredObject } from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import { resolveNames } from '@sluice/warehouses/sql-text/sql-names'
import { tokensOf } from '@sluice/warehouses/sql-text/sql-tokens'
import { type TablePlace, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { viewRecords } from '../views/records.ts'
import { createViolationList } from '../bulk-saves/violation-list.ts'

interface ViewNode {
  id: number
  name: string
  /** Whether the caller may see the view. */
  isVisible: boolean
  schema: string
  view: string
  query: string | null
  sources: TablePlace[]
}

/**
 * Throws 422 if saved views read each other in a cycle, because the warehouse could create none of them. Finds the
 * dependencies of views in the document by searching their queries for view names. For other views, uses the
 * dependencies that the warehouse reported.
 */
export async function assertNoViewCycles(
  trx: Transaction<DB>,
  caller: Caller,
  objects: readonly ConfiguredObject[],
): Promise<void> {
  const nodes = await readViews(
    trx,
    caller,
    objects.map(({ name }) => name),
  )
  const findReadViews = createViewFinder(nodes.map(({ schema, view }) => ({ schema, name: view })))
  const byQualifiedName = new Map(nodes.map((node) => [`${node.schema}.${node.view}`, node]))
  const reads = new Map(
    nodes.map((node) => {
      const readNodes = findReadViews(node).flatMap(
        ({ schema, name }) => byQualifiedName.get(`${schema}.${name}`) ?? [],
      )
      return [node, [...new Set(readNodes)]]
    }),
  )
  const violations = createViolationList()
  const indexes = new Map(objects.map(({ name }, index) => [name, index]))
  for (const component of findComponents(reads)) {
    // Report the oldest view of the cycle that is in the document, so that the same document always gets the same
    // message.
    const start = [...component].toSorted((one, other) => one.id - other.id).find(({ name }) => indexes.has(name))
    const cycle = start && findCycle(start, component, reads)
    if (cycle) violations.add(`/views/${indexes.get(start.name)}/query`, describeCycle(cycle))
  }
  violations.throwIfAny()
}

/**
 * Reads all views of the organisation. `query` is the query of a view with one of these names, and null for other
 * views. `sources` are the tables and views that the warehouse reported.
 */
async function readViews(trx: Transaction<DB>, caller: Caller, names: readonly string[]): Promise<ViewNode[]> {
  const { rows } = await sql<ViewNode>`
    select r.id, r.name, s.schema_name as schema, r.view_name as view, ${viewRecords.definition.scope(caller, 'READ')} as "isVisible",
      case when r.name = any(${names}) then r.query end as query,
      coalesce((
        select json_agg(json_build_object('schema', o.schema_name, 'name', o.relation_name))
        from view_sources o where o.view_id = r.id), '[]') as sources
    from views r join schemas s on s.id = r.schema_id where r.client = ${caller.client} order by r.id`.execute(trx)
  return rows
}

/** Matches functions and operators in which FROM is followed by a value instead of a table. */
const fromWithoutTable = /\b(extract|trim|substring|overlay)\s*\([^()]*\)|\bdistinct\s+from\b/g

/**
 * The maximum number of name comparisons for the queries of a document. Further queries are not searched; their runs
 * report errors.
 */
const maxComparisons = 20_000_000

/**
 * Returns a function that returns the views which a view reads, possibly with duplicates. It returns none for a query
 * that cannot be parsed, and for all further queries when `maxComparisons` is exceeded.
 */
function createViewFinder(views: readonly TablePlace[]): (node: ViewNode) => TablePlace[] {
  const byName = Map.groupBy(views, ({ name }) => name)
  let comparisons = 0
  return ({ query, schema, sources }) => {
    if (query === null) return sources
    // The names of views and tables in the warehouse are in lower case.
    const text = query.toLowerCase().replaceAll(fromWithoutTable, ' ')
    const words = tokensOf(text).map((token) => token.text)
    const relations = [...new Set(words)].flatMap((word) => byName.get(word) ?? [])
    comparisons += words.length * relations.length
    if (comparisons > maxComparisons) return []
    try {
      return resolveNames(text, { schemas: [schema], relations, address: ({ name }) => name }).reads
    } catch (error) {
      if (error instanceof WarehouseProblem) return []
      throw error
    }
  }
}

type ReadViews = ReadonlyMap<ViewNode, ViewNode[]>

/**
 * Returns the strongly connected components of the views: in a component, each view reads every other one, directly or
 * through others. A view outside any cycle is a component of its own. Tarjan's algorithm visits each view and each
 * reference once.
 */
function findComponents(reads: ReadViews): Set<ViewNode>[] {
  const components: Set<ViewNode>[] = []
  const order = new Map<ViewNode, number>()
  const lowest = new Map<ViewNode, number>()
  const stack: ViewNode[] = []
  const onStack = new Set<ViewNode>()
  for (const root of reads.keys()) {
    const path: { node: ViewNode; next: number }[] = order.has(root) ? [] : [{ node: root, next: 0 }]
    while (path.length > 0) {
      const { node, next } = path.at(-1)!
      if (next === 0) {
        order.set(node, order.size)
        lowest.set(node, order.get(node)!)
        stack.push(node)
        onStack.add(node)
      }
      path.at(-1)!.next += 1
      const read = reads.get(node)![next]
      if (read === undefined) {
        path.pop()
        const parent = path.at(-1)?.node
        if (parent) lowest.set(parent, Math.min(lowest.get(parent)!, lowest.get(node)!))
        if (lowest.get(node) === order.get(node)) {
          const component = new Set(stack.splice(stack.lastIndexOf(node)))
          for (const member of component) onStack.delete(member)
          components.push(component)
        }
      } else if (!order.has(read)) path.push({ node: read, next: 0 })
      else if (onStack.has(read)) lowest.set(node, Math.min(lowest.get(node)!, order.get(read)!))
    }
  }
  return components
}

/** Returns the views of a cycle that starts at `start`; undefined if no cycle contains it. */
function findCycle(start: ViewNode, component: ReadonlySet<ViewNode>, reads: ReadViews): ViewNode[] | undefined {
  const visited = new Set<ViewNode>()
  const path: { node: ViewNode; next: number }[] = [{ node: start, next: 0 }]
  while (path.length > 0) {
    const top = path.at(-1)!
    const read = reads.get(top.node)![top.next]
    top.next += 1
    if (read === undefined) path.pop()
    else if (read === start) return path.map(({ node }) => node)
    else if (component.has(read) && !visited.has(read)) {
      visited.add(read)
      path.push({ node: read, next: 0 })
    }
  }
  return undefined
}

/** The maximum number of views that the message about a cycle names. */
const maxNamedViews = 5

function describeCycle(cycle: readonly Pick<ViewNode, 'name' | 'isVisible'>[]): string {
  const names = cycle.filter(({ isVisible }) => isVisible).map(({ name }) => name)
  if (cycle.length === 1) return `The view "${names[0]}" reads itself. Remove this reference from its query.`
  const shown = names.slice(0, maxNamedViews).map((name) => `"${name}"`)
  const more = cycle.length > shown.length ? ` and ${cycle.length - shown.length} more` : ''
  return `The views ${shown.join(', ')}${more} read each other in a cycle, so none can be created first. Remove one of the references.`
}
