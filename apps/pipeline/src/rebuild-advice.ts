/** Advice in messages that refuse the shape of a load. The API of public datasets, which have no run route, replaces it. */
export const rebuildAdvice = 'run once with "rebuild": true'
