export interface Received {
  id?: string
  event?: string
  data: any
}

/** The server-sent events of a text, comments and instructions left out. */
export const eventsOf = (text: string): Received[] =>
  text
    .split('\n\n')
    // What stands behind the last blank line has not come whole.
    .slice(0, -1)
    .map((block) => Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/, 2))))
    .filter((fields) => fields.data !== undefined)
    .map((fields) => ({ ...fields, data: JSON.parse(fields.data) as unknown }))
