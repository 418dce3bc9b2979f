/** Username and password as the header `authorization` has them in HTTP's Basic scheme (RFC 7617, UTF-8). */
export const basicAuthorization = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
