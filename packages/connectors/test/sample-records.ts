/** A record of a stand-in, independent of its field names in the system. */
export interface Person {
  /** Increases. */
  id: number
  name: string
  /** A field that appears, disappears and changes its type. */
  extra?: string | number
  /** Rows of a repeat group. */
  children?: string[]
  /** Seconds since 2026. */
  createdAt: number
  changedAt: number
  /** Contains a text that no column can store. */
  isUnstorable?: boolean
}

const epoch = Date.UTC(2026, 0, 1)

/** Formats seconds since 2026 as `2026-01-01T00:00:07.000`, in UTC. */
export const formatTime = (seconds: number): string => new Date(epoch + seconds * 1000).toISOString().slice(0, 23)

/** The records of a stand-in: some that tests add, and any number that is generated on request. */
export class People {
  readonly #added = new Map<number, Person>()
  generated = 0
  /** Characters in the name of a generated person. */
  generatedNameLength = 1_000
  /** The system's clock in seconds since 2026. Default: the latest change. */
  now?: number
  /** Maximum records on a page, whatever is requested. */
  pageSize = Infinity
  /** Deleted people that can still be requested. */
  readonly deleted = new Set<number>()

  get size(): number {
    return this.generated + this.#added.size
  }

  /** The time of the latest change. */
  get latest(): number {
    return Math.max(this.generated, ...[...this.#added.values()].map(({ changedAt }) => changedAt))
  }

  get clock(): number {
    return this.now ?? this.latest
  }

  /** Adds or changes a person. Missing fields are generated, or stay as they are. */
  put(person: Partial<Person> & { id: number }, at?: number): void {
    const { id } = person
    const known = this.#added.get(id)
    const createdAt = known?.createdAt ?? at ?? id
    const { extra, ...whole } = { name: `Person ${id}`, ...known, ...person, id, createdAt, changedAt: at ?? createdAt }
    this.#added.set(id, { ...whole, ...(extra !== undefined && { extra }) })
  }

  clear(): void {
    this.#added.clear()
    this.deleted.clear()
    this.generated = 0
    this.generatedNameLength = 1_000
  }

  remove(id: number): void {
    this.#added.delete(id)
  }

  /** In the order of ids. Generated people have the lowest ones. */
  *all(from = 0): Generator<Person, void, void> {
    for (let id = Math.max(1, from); id <= this.generated; id += 1)
      yield { id, name: `Person ${id} ${'x'.repeat(this.generatedNameLength)}`, createdAt: id, changedAt: id }
    for (const id of [...this.#added.keys()].toSorted((item, other) => item - other))
      if (id >= from) yield this.#added.get(id)!
  }

  /** Returns up to `limit` people that match `wanted`, after skipping some. */
  page({ from = 0, skip = 0, limit = Infinity, wanted = everyPerson }: Page = {}): Person[] {
    const found: Person[] = []
    let left = skip
    // Skipped people are not generated.
    let start = from
    if (skip > 0 && wanted === everyPerson && skip <= this.generated) [start, left] = [Math.max(1, from) + skip, 0]
    for (const person of this.all(start)) {
      if (found.length >= limit) break
      if (!wanted(person)) continue
      if (left > 0) left -= 1
      else found.push(person)
    }
    return found
  }

  /** Returns up to `limit` people that match `wanted`, the newest first. */
  newestPage({ below = Infinity, limit, wanted = everyPerson }: NewestPage): Person[] {
    const found = this.page({ from: this.generated + 1, wanted: (person) => person.id < below && wanted(person) })
      .toReversed()
      .slice(0, limit)
    for (let id = Math.min(this.generated, below - 1); id > 0 && found.length < limit; id -= 1)
      found.push(...this.page({ from: id, limit: 1 }).filter(wanted))
    return found
  }
}

interface NewestPage {
  /** Only people with lower ids. */
  below?: number
  limit: number
  wanted?: (person: Person) => boolean
}

interface Page {
  from?: number
  skip?: number
  limit?: number
  wanted?: (person: Person) => boolean
}

export const everyPerson = (): boolean => true
