/** Part of the sentences that refuse the shape of a load. A public dataset has no run, so that its API says it otherwise. */
export const rebuildAdvice = 'run once with "rebuild": true'
