/** What a reader of the docs puts in or has otherwise. */
export interface TourValues {
  identityUrl: string
  pipelineUrl: string
  password: string
  /** A command of the shell that prints the code that an authenticator app shows for `$SETUP`, or the one after it. */
  code: string
  nextCode: string
}

/** A shell block of a page. */
export interface Block {
  page: string
  /** Of its first line in the page, from 1. */
  line: number
  text: string
  /** Why it is not run: what its fence says after `sh not-run:`. */
  notRun: string | undefined
}

/** The shell blocks of a page, in their order. Throws for a fence of `sh` that says something else than `not-run: <reason>`. */
export function parseShellBlocks(page: string, text: string): Block[] {
  return [...text.matchAll(/^```sh([^\n]*)\n(.*?)^```$/gms)].map((match) => {
    const [, info = '', block = ''] = match
    const line = text.slice(0, match.index).split('\n').length + 1
    const [, notRun] = /^ not-run: (.+)$/.exec(info) ?? []
    if (info !== '' && notRun === undefined)
      throw new Error(`${page}:${line - 1} says "sh${info}", not "sh not-run: <reason>".`)
    return { page, line, text: block, notRun }
  })
}

/** The blocks with a line before the output of each. */
export const marked = (blocks: readonly Block[]): string =>
  blocks.map(({ page, line, text }) => `printf '\\n=== ${page}:${line}\\n'\n${text}`).join('\n')

/** The outputs of marked blocks, by page and line. */
export function parseOutputs(stdout: string): Map<string, string> {
  const [, ...parts] = stdout.split(/^=== (.+)\n/m)
  const outputs = new Map<string, string>()
  for (let at = 0; at < parts.length; at += 2) outputs.set(parts[at]!, parts[at + 1]!.replace(/\n$/, ''))
  return outputs
}

/**
 * The blocks as one script. Addresses, password and codes are replaced, for they are the reader's own.
 * Throws where one of the tour's is in no block: then a page says something else than this expects.
 */
export function buildScript(
  blocks: readonly Block[],
  { identityUrl, pipelineUrl, password, code, nextCode }: TourValues,
): string {
  const ofTour = {
    'http://localhost:3001': identityUrl,
    'http://localhost:3002': pipelineUrl,
    "'the password that the start showed'": `'${password}'`,
  }
  const ofOthers = {
    'https://id.example.org': identityUrl,
    "'the six digits of the app'": code,
    "'the next six digits'": nextCode,
  }
  let script = marked(blocks)
  for (const written of Object.keys(ofTour)) if (!script.includes(written)) throw new Error(`No block says ${written}.`)
  for (const [written, meant] of Object.entries({ ...ofTour, ...ofOthers }))
    script = script.replaceAll(written, () => meant)
  return script
}
