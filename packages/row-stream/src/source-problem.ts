/**
 * The source cannot be read. The message explains to the user who configured the source what happened, where, and what
 * to do.
 */
export class SourceProblem extends Error {
  override readonly name = 'SourceProblem'
  readonly code: string
  /** The message without the advice. */
  readonly sentence: string
  readonly advice: ReaderAdvice | undefined

  constructor(code: string, sentence: string, { advice, ...options }: ErrorOptions & { advice?: ReaderAdvice } = {}) {
    super(withAdvice(sentence, advice), options)
    this.code = code
    this.sentence = sentence
    this.advice = advice
  }
}

/**
 * Advice at the end of a message. There are two variants, because a public dataset has no settings and no run
 * operation, so its publisher needs other advice than the owner of a pipeline.
 */
export interface ReaderAdvice {
  /** A sentence for the owner of a pipeline. */
  pipeline: string
  /** A sentence for the publisher of a public dataset. */
  dataset?: string
}

/**
 * Returns the advice to load once with only the columns and types of the source. `purpose` starts the sentence: `To
 * take the new columns`.
 */
export const rebuildAdvice = (purpose: string): ReaderAdvice => ({
  pipeline: `${purpose}, run once with "rebuild": true, which replaces all rows of the table (POST /data-pipelines/{uid}/run).`,
  dataset: `${purpose}, send the file again with ?rebuild=true, which replaces all rows of the table.`,
})

/** Appends the advice for this kind of user to a message, if there is any. */
export function withAdvice(sentence: string, advice: ReaderAdvice | undefined, { isDataset = false } = {}): string {
  const text = isDataset ? advice?.dataset : advice?.pipeline
  return text ? `${sentence} ${text}` : sentence
}
