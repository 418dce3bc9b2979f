/** Columns of a result: a name that came before gets a number behind it. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names)
  const seen = new Set<string>()
  return names.map((label) => {
    let name = label
    for (let number = 2; seen.has(name) || (number > 2 && taken.has(name)); number += 1) name = `${label}_${number}`
    seen.add(name)
    return name
  })
}
