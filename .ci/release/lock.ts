/** The packages of production in package-lock.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SbomPackage } from './spdx.ts'

export interface LockedPackage {
  version: string
  license?: string
  integrity?: string
  dev?: boolean
  devOptional?: boolean
}

export interface LockFile {
  packages: Record<string, LockedPackage>
}

export function readLock(project: string): LockFile {
  return JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as LockFile
}

/** Returns the packages of production by their folder, `node_modules/…`. */
export function lockedPackages(project: string): Map<string, SbomPackage> {
  const { packages } = readLock(project)
  return new Map(
    Object.entries(packages)
      .filter(([folder, { dev }]) => folder !== '' && !dev)
      .map(([folder, locked]) => [folder, describe(folder, locked)]),
  )
}

function describe(folder: string, { version, license, integrity = '' }: LockedPackage): SbomPackage {
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const sha512 = /^sha512-(.+)$/.exec(integrity)?.[1]
  return {
    ...{ name, version, license: license ?? '' },
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(sha512 && { sha512: Buffer.from(sha512, 'base64').toString('hex') }),
  }
}
