import { openAsBlob } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { product } from '../../load/contenders/product.ts'
import type { Installation } from '../../load/installation.ts'
import { compare, type Line, type Parts } from '../line.ts'
import { rawCommand } from '../raw.ts'
import type { Reference } from '../reference.ts'
import { bytesOf, copyOut } from './databases.ts'

const key = 'bench_wide'

/** A public dataset that is copied, against COPY of the same rows to nowhere. */
export async function publicDataset(parts: Parts, { file, source, expected }: Reference): Promise<Line> {
  await upload(parts.installation, file.path)
  const own = await product(parts.installation, { name: 'source_dataset', type: 'PUBLIC_DATASET', settings: { key } })
  const raw = rawCommand(copyOut, await bytesOf(source), { SOURCE: source })
  return compare(parts, { type: 'PUBLIC_DATASET', what: 'a public dataset', raw, own, expected })
}

async function upload({ pipelineUrl, token }: Installation, path: string): Promise<void> {
  const headers = async () => ({ authorization: `Bearer ${await token()}` })
  const form = new FormData()
  form.set('key', key)
  form.set('name', 'Wide rows')
  form.set('file', await openAsBlob(path), 'wide.csv')
  const datasets = `${pipelineUrl}/api/v1/public-datasets`
  const made = await fetch(datasets, { method: 'POST', headers: await headers(), body: form })
  if (!made.ok) throw new Error(`The public dataset was not taken: ${made.status} ${await made.text()}`)
  for (;;) {
    const answer = await fetch(`${datasets}/${key}`, { headers: await headers() })
    const { status } = (await answer.json()) as { status?: { lastRunStatus?: string } }
    if (status?.lastRunStatus === 'OK') return
    if (status?.lastRunStatus === 'FAILED') throw new Error('The public dataset was not loaded.')
    await pause(500)
  }
}
