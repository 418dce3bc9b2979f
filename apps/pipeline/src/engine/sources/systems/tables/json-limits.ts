import { SourceProblem } from '../../source.ts'

/**
 * Values of a text of JSON that are read at once, each list and object counted as two. Measured: two million take 0.1 to 1.4 seconds of
 * the event loop and up to 150 MB, the most where each key is another one.
 */
export const maxJsonValues = 2_000_000
/** Of one record among many: more than anybody writes of a patient or a form, and little beside what the others take. */
export const maxRecordValues = 500_000
/** Where somebody waits, in the process that answers everybody else as well. */
export const maxInteractiveValues = 500_000
/** Deeper than records of any system. */
const maxDepth = 1_000

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Looks at JSON before it is parsed, which is too late: ten million `{}` are 30 MB of text, and 640 MB in memory. Throws `SourceProblem`
 * ANSWER_TOO_LARGE where it holds more than `most` values, so that whoever asks for pages asks for smaller ones, and OTHER_PROTOCOL where
 * it is nested too deep. 31 MB take 0.1 seconds.
 */
export function assertJsonLimits(text: string, most: number): void {
  let [values, depth, greatest] = [1, 0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfText(text, at + 1)
    else if (code === comma) values += 1
    else if (code === openList || code === openObject) {
      values += 1
      depth += 1
      if (depth > greatest) greatest = depth
    } else if (code === closeList || code === closeObject) depth -= 1
  }
  if (values > most) throw tooManyValuesProblem(values, most)
  if (greatest > maxDepth) throw tooDeepProblem(greatest)
}

/** Finds the end of the string that starts here. */
function endOfText(text: string, from: number): number {
  let at = from
  for (let code = text.charCodeAt(at); at < text.length && code !== quote; code = text.charCodeAt(at))
    at += code === backslash ? 2 : 1
  return at
}

const formatLimit = (count: number): string => count.toLocaleString('en')

const tooManyValuesProblem = (values: number, most: number): SourceProblem =>
  new SourceProblem(
    'ANSWER_TOO_LARGE',
    `What is answered holds about ${formatLimit(values)} values at once, and ${formatLimit(most)} are read: ask for fewer records at a time, or choose fewer of their fields.`,
  )

const tooDeepProblem = (depth: number): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `What is answered is nested ${formatLimit(depth)} levels deep, and ${formatLimit(maxDepth)} are read: check the address, and that its records are written as its API says.`,
  )
