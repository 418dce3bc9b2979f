import { SourceProblem } from '../../source.ts'
import { textOf } from '../http/answers.ts'
import type { Connection, Http } from '../http/connection.ts'
import type { Asking, SettingsOf, System } from '../system.ts'
import type { SourceSecrets } from '../../../../sealed-secrets.ts'
import { functionsOf, invocationPath, keyTold, lambda } from './lambda.ts'
import { type Rows, rowsIn } from './rows-in.ts'

type Settings = SettingsOf<'FUNCTION'>
type Place = Settings['functionSource']

/** Whoever has an access key means AWS Lambda, also before a function is chosen. */
const isOfLambda = ({ functionName }: Place, { accessKey }: SourceSecrets): boolean =>
  functionName !== undefined || accessKey !== undefined

/** Any function that answers with rows: of AWS Lambda, or behind an address. */
export const functionCall: System<Settings> = {
  name: 'the function',

  connect: ({ functionSource: place }, secrets) =>
    isOfLambda(place, secrets) ? lambda(place, secrets) : behindAddress(place, secrets),

  async test(asking) {
    const { functionSource: place } = asking.settings
    // An address knows no trial: what shows that it can be asked is an answer.
    if (place.functionName === undefined) return void (await call(asking, 1))
    using _tried = await keyTold(
      asking.http.download(invocationPath(place), {
        method: 'POST',
        body: {},
        headers: { 'x-amz-invocation-type': 'DryRun' },
        repeatable: true,
        what: whatOf(place),
      }),
    )
  },

  lookup: (kind, { http, settings, secrets }) =>
    kind === 'functions' && isOfLambda(settings.functionSource, secrets) ? functionsOf(http) : undefined,

  async streams(asking) {
    // The first answer says what tells its rows apart, and which columns there are.
    const first = await call(asking, 1)
    return {
      name: 'rows',
      key: first.key,
      columns: first.columns,
      async *pages() {
        let answer: Rows | undefined = first
        for (let page = 1; ; page += 1) {
          yield { records: answer.rows }
          const { nextToken }: Rows = answer
          answer = undefined
          if (nextToken === undefined) return
          answer = await call(asking, page + 1, nextToken)
          if (answer.nextToken === nextToken) throw goesInCircles(page + 1)
        }
      },
    }
  },
}

/** Its path and question as they are: a slash at the end may count. */
function behindAddress({ url = '', headerName }: Place, secrets: SourceSecrets): Connection {
  const { authToken } = secrets
  const origin = URL.canParse(url) ? new URL(url).origin : url
  if (!authToken) return { url: origin }
  const header = headerName === undefined ? { authorization: `Bearer ${authToken}` } : { [headerName]: authToken }
  return { url: origin, headers: header }
}

function pathOf(place: Place): string {
  if (place.functionName !== undefined) return invocationPath(place)
  const { url = '' } = place
  // Whoever has an access key may name no function yet.
  if (!URL.canParse(url)) throw functionMissing()
  const { pathname, search } = new URL(url)
  return pathname === '/' ? search : `${pathname}${search}`
}

const whatOf = ({ functionName }: Place): string =>
  functionName === undefined ? 'The function' : `The function "${functionName}"`

/** What may not be there: nobody chose another than what is at the address. */
const chosenOf = (place: Place) => place.functionName !== undefined && { what: whatOf(place) }

/** One call: the payload of the settings, with which page it is, and the token of the last answer. */
async function call(
  { http, settings, log }: Asking<Settings>,
  page: number,
  nextToken?: string | number,
): Promise<Rows> {
  const { functionSource: place, payload } = settings
  const { json, headers } = await keyTold(
    http.answer(pathOf(place), {
      method: 'POST',
      body: { ...payload, page, nextToken: nextToken ?? null },
      repeatable: true,
      ...chosenOf(place),
    }),
  )
  const failed = headers.get('x-amz-function-error')
  if (failed !== null) throw failure(json, http, place)
  return rowsIn(json, http.words, (column, type) =>
    log(
      'WARN',
      'LOW',
      `The function says that "${column}" is of type "${http.words(type)}", which Sluice does not know. Sluice infers the type from the values.`,
    ),
  )
}

/** AWS answers 200 when a function throws, runs out of time or memory, or answers more than 6 MB. */
function failure(answer: unknown, http: Http, place: Place): SourceProblem {
  const { errorType, errorMessage } = (answer ?? {}) as Record<string, unknown>
  const said = http.words([textOf(errorType), textOf(errorMessage)].filter((part) => part !== undefined).join(': '))
  const says = said === '' ? '' : ` It says: ${said}`
  if (/ResponseSizeTooLarge|payload size exceeded/i.test(said))
    return new SourceProblem(
      'ANSWER_TOO_LARGE',
      `${whatOf(place)} answers more than the 6 MB that AWS Lambda hands on: let it answer in parts, each with a nextToken.${says}`,
    )
  return new SourceProblem('SOURCE_FAILED', `${whatOf(place)} fails: look what is wrong there, then run again.${says}`)
}

const functionMissing = (): SourceProblem =>
  new SourceProblem(
    'ADDRESS_INVALID',
    'The function has no name, and no address that is one: choose a function, or write its address like https://example.org/rows.',
  )

const goesInCircles = (page: number): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The function gives the same nextToken with page ${page} as with the one before, so it would never end: let it give another one, or none.`,
  )
