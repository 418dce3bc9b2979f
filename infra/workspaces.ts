import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.ts'

/** A package of the monorepo: its npm name and its folder, relative to the root. */
export type Workspace = { name: string; folder: string }

/** Returns every folder of packages/ and apps/ that contains a package.json. */
export const workspaces = (): Workspace[] =>
  ['packages', 'apps'].flatMap((parent) =>
    readdirSync(join(root, parent))
      .map((child) => ({ folder: `${parent}/${child}`, manifest: join(root, parent, child, 'package.json') }))
      .filter(({ manifest }) => existsSync(manifest))
      .map(({ folder, manifest }) => ({
        folder,
        name: (JSON.parse(readFileSync(manifest, 'utf8')) as { name: string }).name,
      })),
  )
