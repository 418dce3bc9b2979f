import { fewAtOnce } from '@sluice/http'

/** Reads rows of a warehouse. Each holds a connection and, while it is answered, some ten times its 4 MB. Throws 503 when too many wait. */
export const reading = fewAtOnce({ atOnce: 6, waiting: 64, title: 'Too many pages are being read.' })
