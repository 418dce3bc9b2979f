/** Rejected rows of an attempt that are kept for people to look at; further ones are only counted. */
export const mostKeptRejects = 10_000

/** One in a hundred, once there are a hundred rows; of fewer, at least one has to fit. */
const tolerated = { share: 0.01, fromRows: 100 }

/** Why a load with so many rejected rows must not be published, in a sentence; undefined where it may. `first` is the first of them. */
export function tooManyRejected(
  fitting: number,
  { count: rejected, first }: { count: number; first?: string | undefined },
): string | undefined {
  const total = fitting + rejected
  const fits = total < tolerated.fromRows ? fitting > 0 : rejected <= total * tolerated.share
  if (fits || rejected === 0) return undefined
  const why = fitting === 0 ? 'so none would be left' : `and at most ${tolerated.share * 100} % may be set aside`
  return (
    `${rejected} of ${total} rows do not fit, ${why}. ` +
    `The old data stays. ${first ? `The first is in ${first}. ` : ''}` +
    'The run’s rejected rows say what is wrong with each; correct them in the source and run again.'
  )
}
