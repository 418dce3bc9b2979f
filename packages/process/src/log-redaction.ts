const redactedText = '[redacted]'

/**
 * Matches secrets: signed tokens; refresh, link and API tokens; bearer headers; password hashes. The upper bounds keep
 * matching linear for hostile log lines.
 */
const secretPatterns =
  /\beyJ[\w-]{5,2000}\.[\w-]{5,8000}\.[\w-]{5,}|\bsl[a-z]_[\w-]{20,}|\bsluice_[\w-]{30,}|(?<=\bBearer )[\w.~+/=-]{8,}|\$argon2\w*\$[^\s"]+|(?<=\bpostgres(?:ql)?:\/\/[^:@\s"]{1,64}:)[^@\s"]{1,500}(?=@)/g

/**
 * Redacts secret values in log lines. Registered values are redacted in their plain, JSON-escaped, percent-encoded and
 * hexadecimal forms.
 */
export class Redaction {
  #values = new Set<string>()
  #pattern: RegExp | undefined

  add(...values: string[]): void {
    for (const value of values) {
      if (value.length < 6) continue
      const hex = Buffer.from(value).toString('hex')
      for (const spelling of [
        value,
        JSON.stringify(value).slice(1, -1),
        encodeURIComponent(value),
        hex,
        hex.toUpperCase(),
      ])
        this.#values.add(spelling)
      const password = passwordOf(value)
      if (password) this.add(password)
    }
    const longestFirst = [...this.#values].toSorted((a, b) => b.length - a.length)
    this.#pattern =
      longestFirst.length > 0 ? new RegExp(longestFirst.map((value) => RegExp.escape(value)).join('|'), 'g') : undefined
  }

  apply(line: string): string {
    const redactedLine = this.#pattern ? line.replace(this.#pattern, redactedText) : line
    return redactedLine.replace(secretPatterns, redactedText)
  }
}

function passwordOf(value: string): string | undefined {
  if (!/^[a-z]+:\/\//.test(value) || !URL.canParse(value)) return undefined
  return decodeURIComponent(new URL(value).password) || undefined
}
