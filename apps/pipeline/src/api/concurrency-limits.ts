import { Semaphore } from '@sluice/process'

/** The maximum number of milliseconds that a caller waits for a slot. */
const waitMs = 15_000

/**
 * The semaphores that limit concurrent requests in this process. They are fair between organisations: only an organisation
 * without a slot gets the last free one. A semaphore limits how long a caller waits for a slot, not how long it holds one.
 */
export const requestSlots = {
  /** Pages of rows. Each holds a connection to the warehouse and, while its response is sent, about ten times its 4 MB. */
  pages: new Semaphore({ total: 6, each: 3, waiting: 20, waitMs, title: 'Too many pages are being read.' }),
  /** Pages for anonymous readers: one per organisation. Each also needs a slot of `pages`. */
  anonymousPages: new Semaphore({
    total: 2,
    each: 1,
    waiting: 10,
    waitMs: 5_000,
    title: 'Too many pages are being read.',
  }),
  /** Previews of sources and queries. Each reads up to some megabytes, in a separate thread or on a separate connection. */
  previews: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many previews of your organisation are running.',
  }),
  /** Queries of users. The warehouse has its own limits for queries, which previews, checks and queries share. */
  queries: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many queries of your organisation are running.',
  }),
  /** Previews of files. Each file is held in memory until it is written. */
  previewFiles: new Semaphore({
    total: 12,
    each: 4,
    waiting: 20,
    waitMs,
    title: 'Too many previews of your organisation are running.',
  }),
  /** Look-ups in sources. */
  lookups: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many look-ups of your organisation are running.',
  }),
  connectionTests: new Semaphore({
    total: 16,
    each: 4,
    waiting: 20,
    waitMs,
    title: 'Too many connection tests of your organisation are running.',
  }),
  targets: new Semaphore({
    total: 16,
    each: 4,
    waiting: 20,
    waitMs,
    title: 'Too many requests to destinations of your organisation are running.',
  }),
  /** Checks that run within a request. Workers run all other checks. */
  checks: new Semaphore({
    total: 6,
    each: 2,
    waiting: 20,
    waitMs: 60_000,
    title: 'Too many data quality checks of your organisation are running.',
  }),
  /** Saves of views, which run up to 20 seconds in the warehouse. Each organisation saves one at a time, so that two saves never create the same view. */
  views: new Semaphore({
    total: 4,
    each: 1,
    waiting: 20,
    waitMs,
    title: 'Too many views of your organisation are being saved.',
  }),
  /** Exports of configurations. Each holds all objects of an organisation in memory. */
  configurations: new Semaphore({
    total: 4,
    each: 1,
    waiting: 20,
    waitMs,
    title: 'Too many configurations of your organisation are being exported.',
  }),
  /** Drops of deleted tables. Each holds a connection of the service's database while the warehouse drops. */
  drops: new Semaphore({
    total: 3,
    each: 1,
    waiting: 50,
    waitMs,
    title: 'Too many tables of your organisation are being dropped.',
  }),
  /** Changes of warehouse readers. Each holds two connections of the service's database while the warehouse changes the login. */
  readers: new Semaphore({
    total: 3,
    each: 1,
    waiting: 20,
    waitMs,
    title: 'Too many warehouse readers of your organisation are being changed.',
  }),
  /** Uploads. The body is not read before the upload has its slot. */
  uploads: new Semaphore({
    total: 16,
    each: 4,
    waiting: 20,
    waitMs: 60_000,
    title: 'Too many files of your organisation are being uploaded.',
  }),
}
