/** What a reader of the tour puts in or has otherwise. */
export interface Placement {
  identityUrl: string
  pipelineUrl: string
  password: string
}

/**
 * The sh blocks of the README's tour as one script, with the addresses and the password replaced. Throws where the
 * tour or what is to be replaced is not found: a test of nothing would be green.
 */
export const tourScript = (readme: string, { identityUrl, pipelineUrl, password }: Placement): string => {
  const [, tour] = /^## A tour in five minutes\n(.*?)^## /ms.exec(readme) ?? []
  if (!tour) throw new Error('The README has no section "A tour in five minutes".')
  const blocks = [...tour.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block)
  const replacements = {
    'http://localhost:3001': identityUrl,
    'http://localhost:3002': pipelineUrl,
    "'the password that the start showed'": `'${password}'`,
  }
  let script = blocks.join('')
  for (const [written, meant] of Object.entries(replacements)) {
    if (!script.includes(written)) throw new Error(`The tour does not say ${written}.`)
    script = script.replaceAll(written, () => meant)
  }
  return script
}
