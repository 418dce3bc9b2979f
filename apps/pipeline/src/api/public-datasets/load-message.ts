import { rebuildAdvice } from '../../rebuild-advice.ts'

/**
 * Returns the message of a dataset's load. Public datasets have no run route, so its advice names the upload instead. Their warehouse is
 * the catalogue, not that of the organisation.
 */
export const loadMessage = (message: string): string =>
  message
    .replace(rebuildAdvice, 'send the file again with ?rebuild=true')
    .replace('The warehouse of your organisation has', 'The catalogue of public datasets has')
