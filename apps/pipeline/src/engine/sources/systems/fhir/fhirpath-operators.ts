import { isExact } from '../tables/exact-numbers.ts'

const truth = ([value]: readonly unknown[]): boolean | undefined => (value === undefined ? undefined : value !== false)

/** Nothing compared with something is nothing, which is not true. */
export function combined(operator: string, left: unknown[], right: unknown[]): unknown[] {
  const [one, other] = [truth(left), truth(right)]
  if (operator === '|') return [...new Set([...left, ...right])]
  if (operator === 'and') return one === false || other === false ? [false] : one && other ? [true] : []
  if (operator === 'or') return one || other ? [true] : one === false && other === false ? [false] : []
  if (operator === '&') return [`${left.join('')}${right.join('')}`]
  if (left.length === 0 || right.length === 0) return []
  if (operator === 'xor') return [one !== other]
  const same = JSON.stringify(left) === JSON.stringify(right)
  if (operator === '=' || operator === '!=') return [same === (operator === '=')]
  const [first, second] = [left[0], right[0]].map(plain) as [number, number]
  switch (operator) {
    case '+':
      return [first + second]
    case '-':
      return [first - second]
    case '*':
      return [first * second]
    case '/':
      return second === 0 ? [] : [first / second]
    case '<':
      return [first < second]
    case '>':
      return [first > second]
    default:
      return [operator === '<=' ? first <= second : first >= second]
  }
}

/** A number whose digits were kept, as one that is reckoned with. */
const plain = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && isExact(value) ? Number(JSON.stringify(value)) : value
