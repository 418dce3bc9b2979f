/** The values that replace the examples in the shell blocks. */
export interface TourValues {
  identityUrl: string
  pipelineUrl: string
  password: string
  /** Shell commands that print the current and the next one-time code for the secret `$SETUP`. */
  code: string
  nextCode: string
}

/** A shell block of a page. */
export interface Block {
  page: string
  /** The number of the first line of the block in the page, from 1. */
  line: number
  text: string
  /** The reason after `sh not-run:` if the block is not run. */
  notRun: string | undefined
}

/** Returns the shell blocks of a page in order. Throws if a fence is neither `sh` nor `sh not-run: <reason>`. */
export function parseShellBlocks(page: string, text: string): Block[] {
  return [...text.matchAll(/^```sh([^\n]*)\n(.*?)^```$/gms)].map((match) => {
    const [, info = '', block = ''] = match
    const line = text.slice(0, match.index).split('\n').length + 1
    const [, notRun] = /^ not-run: (.+)$/.exec(info) ?? []
    if (info !== '' && notRun === undefined)
      throw new Error(`${page}:${line - 1} has the fence "sh${info}" instead of "sh not-run: <reason>".`)
    return { page, line, text: block, notRun }
  })
}

/** Returns one script of all blocks. It prints the page and line of each block before the output of the block. */
export const joinBlocks = (blocks: readonly Block[]): string =>
  blocks.map(({ page, line, text }) => `printf '\\n=== ${page}:${line}\\n'\n${text}`).join('\n')

/** Returns the output of each block of `joinBlocks` by page and line. */
export function parseOutputs(stdout: string): Map<string, string> {
  const [, ...parts] = stdout.split(/^=== (.+)\n/m)
  const outputs = new Map<string, string>()
  for (let at = 0; at < parts.length; at += 2) outputs.set(parts[at]!, parts[at + 1]!.replace(/\n$/, ''))
  return outputs
}

/**
 * Returns the blocks as one script, with the addresses, password and codes of the test. Throws if the blocks lack an
 * address or the password of the tour, because the replacement would not work.
 */
export function buildScript(
  blocks: readonly Block[],
  { identityUrl, pipelineUrl, password, code, nextCode }: TourValues,
): string {
  const tourValues = {
    'http://localhost:3001': identityUrl,
    'http://localhost:3002': pipelineUrl,
    "'the password that the start showed'": `'${password}'`,
  }
  const otherValues = {
    'https://id.example.org': identityUrl,
    "'the six digits of the app'": code,
    "'the next six digits'": nextCode,
  }
  let script = joinBlocks(blocks)
  for (const example of Object.keys(tourValues))
    if (!script.includes(example)) throw new Error(`No block contains ${example}.`)
  for (const [example, value] of Object.entries({ ...tourValues, ...otherValues }))
    script = script.replaceAll(example, () => value)
  return script
}
