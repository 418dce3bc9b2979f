import { escapeIdentifier, type PoolClient } from 'pg'
import { withClient } from './access.ts'
import { copyInto } from './copy.ts'
import { readTuples } from './copy-rows.ts'
import { freeAssertion, type Pools, type PostgresLoad } from './load.ts'
import { qualified } from './names.ts'
import { readShape } from './shape.ts'
import { createStaging, dropDetached, originOf, stagingName } from './staging.ts'

/** Copies of the staging tables of a dry run. Disposing drops those that have not replaced a staging table. */
export class RowCopies implements AsyncDisposable {
  readonly #pools: Pools
  readonly #loads: readonly PostgresLoad[]
  /** The name of the copy for each load that has one. */
  readonly #names = new Map<PostgresLoad, string>()

  constructor(pools: Pools, loads: readonly PostgresLoad[]) {
    this.#pools = pools
    this.#loads = loads
  }

  /** Copies columns and rows as the open transaction of `client` sees them. Indexes and constraints are not copied. */
  async make(client: PoolClient, signal: AbortSignal): Promise<void> {
    for (const load of this.#loads) {
      const staging = stagingName({ ...load.target, staging: 2 })
      const { columns } = (await readShape(client, 'sluice', load.stagingTable))!
      this.#names.set(load, staging)
      await withClient(this.#pools.statements, signal, (other) =>
        createStaging(other, staging, originOf(load.target), columns),
      )
      const names = columns.map(({ name }) => name)
      const rows = () => readTuples(client, qualified('sluice', load.stagingTable), names)
      const assertFree = freeAssertion(this.#pools, load, signal)
      const copying = {
        staging,
        columns: names.map((name) => escapeIdentifier(name)).join(', '),
        types: [],
        content: { format: 'copy-binary' as const, rows },
        frozen: false,
        assertFree,
      }
      await copyInto(this.#pools.lanes, copying, load.scene, signal)
      // The end of the COPY may have written more.
      await assertFree?.()
    }
  }

  /** Gives the copies the names of the staging tables, which must be gone. */
  async replaceStaging(): Promise<void> {
    const renames = [...this.#names].map(
      ([{ stagingTable }, copy]) =>
        `alter table ${qualified('sluice', copy)} rename to ${escapeIdentifier(stagingTable)}`,
    )
    await withClient(this.#pools.statements, undefined, (client) =>
      client.query(['begin', ...renames, 'commit'].join(';')),
    )
    this.#names.clear()
  }

  /** Never throws. Maintenance sweeps what cannot be dropped now. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#names.values()) await dropDetached(this.#pools.statements, name).catch(() => {})
  }
}
