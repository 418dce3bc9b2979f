import { fewAtOnceEach } from '@sluice/http'

/** Checks that somebody waits for. Those that nobody does are run by workers. */
export const checking = fewAtOnceEach({
  atOnce: 2,
  waiting: 20,
  title: 'Too many checks of your organisation are being run.',
})
