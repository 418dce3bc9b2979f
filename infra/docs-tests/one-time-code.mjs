/**
 * `node one-time-code.mjs <base32 secret> <steps>` prints the one-time code of an authenticator app (RFC 6238), this
 * many steps of 30 seconds from now. It works with every Node version that the docs allow.
 */
import { createHmac } from 'node:crypto'

const [secret, steps] = process.argv.slice(2)
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const bits = [...secret].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)))
const counter = Buffer.alloc(8)
counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + Number(steps)))
const digest = createHmac('sha1', key).update(counter).digest()
const code = (digest.readUInt32BE(digest.at(-1) % 16) & 0x7f_ff_ff_ff) % 1_000_000
process.stdout.write(String(code).padStart(6, '0'))
