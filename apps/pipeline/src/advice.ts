/**
 * What readers of a message can do. A public dataset has no settings of its own and no run operation, so its publisher needs other advice,
 * or none.
 */
export interface Advice {
  pipeline: string
  dataset?: string
}

/** Says how the table takes the columns and types of one load. `purpose` begins the sentence: `To take the new columns`. */
export const rebuildAdvice = (purpose: string): Advice => ({
  pipeline: `${purpose}, run once with "rebuild": true (POST /data-pipelines/{uid}/run).`,
  dataset: `${purpose}, send the file again with ?rebuild=true.`,
})

/** A message of sentences and the advice for its readers. */
export function advised(sentence: string, advice: Advice | undefined, { isDataset = false } = {}): string {
  const given = isDataset ? advice?.dataset : advice?.pipeline
  return given ? `${sentence} ${given}` : sentence
}
