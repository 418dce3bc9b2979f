import { rebuildAdvice } from '../../rebuild-advice.ts'

/** The message of the run that loaded a dataset. A public dataset has no run route, so its advice names the upload instead. */
export const loadMessage = (message: string): string =>
  message.replace(rebuildAdvice, 'send the file again with ?rebuild=true')
