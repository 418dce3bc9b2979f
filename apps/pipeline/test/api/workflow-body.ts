import { randomBytes } from 'node:crypto'

/** A job that runs this. */
export const job = (uid: string, jobType = 'DATA_PIPELINE_LOAD') => ({ jobType, object: { uid } })

/** A workflow as somebody would send it, with a name of its own. */
export function workflowBody(steps: readonly object[], changes: object = {}) {
  return {
    name: `Workflow ${randomBytes(6).toString('hex')}`,
    disabled: false,
    runTrigger: 'NEVER',
    continuouslyUpdated: false,
    steps: { steps },
    ...changes,
  }
}
