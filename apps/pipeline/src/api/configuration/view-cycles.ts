import type { ConfiguredObject } from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import { resolveNames } from '@sluice/warehouses/sql-text/resolve-table-names'
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
  const indexesInDocument = new Map(objects.map(({ name }, index) => [name, index]))
  const reads = findReadViews(await readViews(trx, caller, [...indexesInDocument.keys()]))
  const violations = createViolationList()
  for (const component of findComponents(reads)) {
    // Report the oldest view of the cycle that is in the document, so that the same document always gets the same
    // message.
    const oldestFirst = [...component].toSorted((one, other) => one.id - other.id)
    const start = oldestFirst.find(({ name }) => indexesInDocument.has(name))
    const cycle = start && findCycle(start, component, reads)
    if (cycle) violations.add(`/views/${indexesInDocument.get(start.name)}/query`, describeCycle(cycle))
  }
  violations.throwIfAny()
}

/** Returns the views that each view reads, without duplicates. */
function findReadViews(views: readonly ViewNode[]): ReadViews {
  const findReads = createReadFinder(views.map(({ schema, view }) => ({ schema, name: view })))
  const viewsByQualifiedName = new Map(views.map((node) => [`${node.schema}.${node.view}`, node]))
  return new Map(
    views.map((node) => {
      const readViews = findReads(node).flatMap(
        ({ schema, name }) => viewsByQualifiedName.get(`${schema}.${name}`) ?? [],
      )
      return [node, [...new Set(readViews)]]
    }),
  )
}

/**
 * Reads all views of the organisation. `query` is the query of a view with one of these names, and null for other
 * views. `sources` are the tables and views that the warehouse reported.
 */
async function readViews(trx: Transaction<DB>, caller: Caller, names: readonly string[]): Promise<ViewNode[]> {
  const { rows } = await sql<ViewNode>`
    select r.id, r.name, schemas.schema_name as schema, r.view_name as view,
      ${viewRecords.definition.scope(caller, 'READ')} as "isVisible",
      case when r.name = any(${names}) then r.query end as query,
      coalesce((
        select json_agg(json_build_object('schema', source.schema_name, 'name', source.relation_name))
        from view_sources source where source.view_id = r.id), '[]') as sources
    from views r join schemas on schemas.id = r.schema_id where r.client = ${caller.client} order by r.id`.execute(trx)
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
 * Returns a function that returns the views and tables which a view reads, possibly with duplicates. It returns none
 * for a query that cannot be parsed, and for all further queries when `maxComparisons` is exceeded.
 */
function createReadFinder(views: readonly TablePlace[]): (node: ViewNode) => TablePlace[] {
  const viewsByName = Map.groupBy(views, ({ name }) => name)
  let comparisons = 0
  return ({ query, schema, sources }) => {
    if (query === null) return sources
    // The names of views and tables in the warehouse are in lower case.
    const text = query.toLowerCase().replaceAll(fromWithoutTable, ' ')
    const words = tokensOf(text).map((token) => token.text)
    const possibleReads = [...new Set(words)].flatMap((word) => viewsByName.get(word) ?? [])
    comparisons += words.length * possibleReads.length
    if (comparisons > maxComparisons) return []
    try {
      // `address` writes a relation in the resolved text, which is not used here.
      return resolveNames(text, { schemas: [schema], relations: possibleReads, address: ({ name }) => name }).reads
    } catch (error) {
      if (error instanceof WarehouseProblem) return []
      throw error
    }
  }
}

type ReadViews = ReadonlyMap<ViewNode, ViewNode[]>

/** A view on the path of a depth-first search, and the views that it reads and that are not yet followed. */
interface PathEntry {
  node: ViewNode
  remainingReads: Iterator<ViewNode, undefined>
}

/**
 * Returns the strongly connected components of the views: in a component, each view reads every other one, directly or
 * through others. A view outside any cycle is a component of its own. Tarjan's algorithm visits each view and each
 * reference once.
 */
function findComponents(reads: ReadViews): Set<ViewNode>[] {
  const components: Set<ViewNode>[] = []
  const visitNumbers = new Map<ViewNode, number>()
  /** The lowest visit number of an open node that a node reads, directly or through others. */
  const lowestReached = new Map<ViewNode, number>()
  /** The visited nodes that are not yet in a component, in the order of the visits. */
  const openNodes: ViewNode[] = []
  const closedNodes = new Set<ViewNode>()

  const visit = (node: ViewNode): PathEntry => {
    const number = visitNumbers.size
    visitNumbers.set(node, number)
    lowestReached.set(node, number)
    openNodes.push(node)
    return { node, remainingReads: reads.get(node)!.values() }
  }
  const recordReached = (node: ViewNode, number: number) =>
    lowestReached.set(node, Math.min(lowestReached.get(node)!, number))

  for (const root of reads.keys()) {
    const path = visitNumbers.has(root) ? [] : [visit(root)]
    while (path.length > 0) {
      const { node, remainingReads } = path.at(-1)!
      const { value: read, done: isFollowed } = remainingReads.next()
      if (isFollowed) {
        path.pop()
        const reader = path.at(-1)?.node
        if (reader) recordReached(reader, lowestReached.get(node)!)
        const reachesEarlierNode = lowestReached.get(node)! < visitNumbers.get(node)!
        if (!reachesEarlierNode) {
          const component = new Set(openNodes.splice(openNodes.lastIndexOf(node)))
          for (const member of component) closedNodes.add(member)
          components.push(component)
        }
      } else if (!visitNumbers.has(read)) path.push(visit(read))
      else if (!closedNodes.has(read)) recordReached(node, visitNumbers.get(read)!)
    }
  }
  return components
}

/** Returns the views of a cycle that starts at `start`, by a depth-first search; undefined if no cycle contains it. */
function findCycle(start: ViewNode, component: ReadonlySet<ViewNode>, reads: ReadViews): ViewNode[] | undefined {
  const visited = new Set<ViewNode>()
  const visit = (node: ViewNode): PathEntry => ({ node, remainingReads: reads.get(node)!.values() })
  const path = [visit(start)]
  while (path.length > 0) {
    const { value: read, done: isFollowed } = path.at(-1)!.remainingReads.next()
    if (isFollowed) path.pop()
    else if (read === start) return path.map(({ node }) => node)
    else if (component.has(read) && !visited.has(read)) {
      visited.add(read)
      path.push(visit(read))
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
