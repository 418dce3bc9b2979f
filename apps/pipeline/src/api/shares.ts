import { Semaphore } from '@sluice/process'

/** The longest wait for a slot, in milliseconds. */
const waitMs = 15_000

/**
 * The semaphores of this process, fair between organisations: an organisation without a slot gets the last free one. The holder of a
 * slot limits how long it holds it.
 */
export const shares = {
  /** Pages of rows. Each holds a connection to the warehouse and, while its response is sent, about ten times its 4 MB. */
  pages: new Semaphore({ total: 6, each: 3, waiting: 20, waitMs, title: 'Too many pages are being read.' }),
  /** Pages for readers without sign-in, one of each organisation. They also need a slot of `pages`. */
  anonymousPages: new Semaphore({
    total: 2,
    each: 1,
    waiting: 10,
    waitMs: 5_000,
    title: 'Too many pages are being read.',
  }),
  /** Previews of sources and queries. Each reads up to some megabytes, in a thread or on a connection of its own. */
  previews: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many previews of your organisation are under way.',
  }),
  /** Previews of files. Each file is held in memory until it is written. */
  previewFiles: new Semaphore({
    total: 12,
    each: 4,
    waiting: 20,
    waitMs,
    title: 'Too many previews of your organisation are under way.',
  }),
  /** Look-ups in sources. */
  lookups: new Semaphore({
    total: 8,
    each: 2,
    waiting: 20,
    waitMs,
    title: 'Too many things are being looked up for your organisation.',
  }),
  connectionTests: new Semaphore({
    total: 16,
    each: 4,
    waiting: 20,
    waitMs,
    title: 'Too many connections of your organisation are being tried.',
  }),
  targets: new Semaphore({
    total: 16,
    each: 4,
    waiting: 20,
    waitMs,
    title: 'Too many targets of your organisation are being queried.',
  }),
  /** Checks that a request waits for. Workers run the others. */
  checks: new Semaphore({
    total: 6,
    each: 2,
    waiting: 20,
    waitMs: 60_000,
    title: 'Too many checks of your organisation are being run.',
  }),
  /** Saves of views: the warehouse runs their queries, up to 20 seconds. One of each organisation at a time, so that two saves never create the same view. */
  views: new Semaphore({
    total: 4,
    each: 1,
    waiting: 20,
    waitMs,
    title: 'Too many views of your organisation are being saved.',
  }),
  /** Drops of deleted tables. Each holds a connection of the service's database while the warehouse drops. */
  drops: new Semaphore({
    total: 3,
    each: 1,
    waiting: 50,
    waitMs,
    title: 'Too many tables of your organisation are being dropped.',
  }),
  /** Uploads. A body that waits is not read. */
  uploads: new Semaphore({
    total: 16,
    each: 4,
    waiting: 20,
    waitMs: 60_000,
    title: 'Too many files of your organisation are being uploaded.',
  }),
}
