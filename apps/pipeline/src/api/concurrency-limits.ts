import { Semaphore } from '@sluice/process'

/** The maximum time in milliseconds that a caller waits for a slot. */
const waitMs = 15_000

/**
 * Semaphores that limit concurrent requests in this process. They are fair between organisations: only an organisation
 * that holds no slot gets the last free one. A semaphore limits the wait for a slot, not how long a caller holds it.
 */
export const requestSlots = {
  /**
   * Pages of rows. Each holds a warehouse connection and, while the response is sent, about 40 MB: ten times its 4 MB.
   */
  pages: new Semaphore({
    total: 6,
    each: 3,
    waiting: 20,
    waitMs,
    title: 'Too many pages are being read.',
  }),
  /** Pages for anonymous callers: one at a time per organisation. Each also needs a slot of `pages`. */
  anonymousPages: new Semaphore({
    total: 2,
    each: 1,
    waiting: 10,
    waitMs: 5_000,
    title: 'Too many pages are being read.',
  }),
  /** Previews of sources and queries. Each reads up to some megabytes in a thread or on a connection of its own. */
  previews: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many previews of your organisation are running.',
  }),
  /** Queries of users. In addition, the warehouse limits all its queries: those of users, previews and checks. */
  queries: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many queries of your organisation are running.',
  }),
  /** Previews of files. Each file is held in memory until it is written to the disk. */
  previewFiles: new Semaphore({
    total: 12,
    each: 4,
    waiting: 20,
    waitMs,
    title: 'Too many previews of your organisation are running.',
  }),
  /** Lookups of values in sources, for settings. */
  lookups: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many lookups of your organisation are running.',
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
  /** Checks that run within a request. All other checks run in workers. */
  checks: new Semaphore({
    total: 6,
    each: 2,
    waiting: 20,
    waitMs: 60_000,
    title: 'Too many data quality checks of your organisation are running.',
  }),
  /**
   * Saves of views, which take up to 20 seconds in the warehouse. Each organisation saves one view at a time, so that
   * two saves cannot create the same view.
   */
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
  /** Drops of deleted tables. Each holds a connection of the service's database while the warehouse drops the table. */
  drops: new Semaphore({
    total: 3,
    each: 1,
    waiting: 50,
    waitMs,
    title: 'Too many tables of your organisation are being dropped.',
  }),
  /**
   * Changes of warehouse readers (database logins for other programs). Each holds two connections of the service's
   * database while the warehouse changes the login.
   */
  readers: new Semaphore({
    total: 3,
    each: 1,
    waiting: 20,
    waitMs,
    title: 'Too many warehouse readers of your organisation are being changed.',
  }),
  /** Uploads. The service does not read the body until the upload has a slot. */
  uploads: new Semaphore({
    total: 16,
    each: 4,
    waiting: 20,
    waitMs: 60_000,
    title: 'Too many files of your organisation are being uploaded.',
  }),
}
