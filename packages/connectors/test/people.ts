/** What a source has, whatever it calls it: what the conformance suite talks about. */
export interface Person {
  /** Grows. */
  id: number
  name: string
  /** A field that comes, goes, and changes its type. */
  extra?: string | number
  /** Rows of a group that repeats. */
  children?: string[]
  /** Seconds since 2026 at which it came to be, and was changed. */
  createdAt: number
  changedAt: number
  /** Holds what no column can. */
  isUnstorable?: boolean
}

const epoch = Date.UTC(2026, 0, 1)

/** A moment of a population as systems write it: `2026-01-01T00:00:07.000`, in UTC. */
export const formatTime = (seconds: number): string => new Date(epoch + seconds * 1000).toISOString().slice(0, 23)

/** People of a stand-in: some that are named, or a crowd that is made as it is asked for. */
export class People {
  readonly #named = new Map<number, Person>()
  generated = 0
  /** Characters in a name of the crowd. */
  generatedNameLength = 1_000
  /** Seconds since 2026 by the clock of the system; where it has none, that of the latest change. */
  now?: number
  /** Records on a page at most, where a stand-in takes fewer than it is asked for. */
  pageSize = Infinity
  /** Those that were deleted, and can still be asked for. */
  readonly deleted = new Set<number>()

  get size(): number {
    return this.generated + this.#named.size
  }

  /** When somebody was changed last. */
  get latest(): number {
    return Math.max(this.generated, ...[...this.#named.values()].map(({ changedAt }) => changedAt))
  }

  get clock(): number {
    return this.now ?? this.latest
  }

  /** Adds or changes. What is not said of somebody new is made up; of somebody known it stays. */
  put(person: Partial<Person> & { id: number }, at?: number): void {
    const { id } = person
    const known = this.#named.get(id)
    const createdAt = known?.createdAt ?? at ?? id
    const { extra, ...whole } = { name: `Person ${id}`, ...known, ...person, id, createdAt, changedAt: at ?? createdAt }
    this.#named.set(id, { ...whole, ...(extra !== undefined && { extra }) })
  }

  clear(): void {
    this.#named.clear()
    this.deleted.clear()
    this.generated = 0
    this.generatedNameLength = 1_000
  }

  remove(id: number): void {
    this.#named.delete(id)
  }

  /** By id. A crowd has the lowest ones. */
  *all(from = 0): Generator<Person, void, void> {
    for (let id = Math.max(1, from); id <= this.generated; id += 1)
      yield { id, name: `Person ${id} ${'x'.repeat(this.generatedNameLength)}`, createdAt: id, changedAt: id }
    for (const id of [...this.#named.keys()].toSorted((item, other) => item - other))
      if (id >= from) yield this.#named.get(id)!
  }

  /** The first so many that `wanted` takes, leaving out some before them. */
  page({ from = 0, skip = 0, limit = Infinity, wanted = everyPerson }: Page = {}): Person[] {
    const found: Person[] = []
    let left = skip
    // A crowd is long: what is left out of it is not made.
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
}

interface Page {
  from?: number
  skip?: number
  limit?: number
  wanted?: (person: Person) => boolean
}

export const everyPerson = (): boolean => true
