/** Real links on a disk, as a pod can make them in a directory that it may write. */
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openExisting } from './existing.ts'
import { prepareDirectory } from './prepare.ts'

/** A root with the data of two tenants, below a directory with secrets. */
let root: string
const at = (...path: string[]) => join(root, ...path)

beforeEach(async () => {
  const node = mkdtempSync(join(tmpdir(), 'lodestone-local-'))
  onTestFinished(() => rmSync(node, { recursive: true, force: true }))
  root = join(node, 'local')
  await mkdir(at('shop', 'sales', 'deep'), { recursive: true })
  await mkdir(at('bank', 'accounts', 'deep'), { recursive: true })
  await mkdir(join(node, 'secrets', 'deep'), { recursive: true })
  await writeFile(at('shop', 'sales', 'rows.csv'), '1,2')
})

const check = (...path: string[]) => prepareDirectory({ root, target: at(...path), mustExist: true })

test.each([
  { name: 'the directory', path: ['shop', 'sales'], want: 'can be read' },
  { name: 'the directory with a slash at its end', path: ['shop', 'sales/'], want: 'can be read' },
  { name: 'an empty directory', path: ['shop', 'sales', 'deep'], want: 'is empty and can be read' },
  { name: 'the root itself', path: [], want: 'can be read' },
])('$name is read', async ({ path, want }) => {
  expect(await check(...path)).toMatchObject({ message: want })
})

describe('a symbolic link is refused', () => {
  test.each<{ name: string; link: [from: string[], to: string[]]; path: string[]; shown: string }>([
    {
      name: 'as the last part, to the data of another tenant',
      link: [
        ['shop', 'link'],
        ['..', 'bank', 'accounts'],
      ],
      path: ['shop', 'link'],
      shown: 'shop/link',
    },
    {
      name: 'as the last part, to data of the same tenant',
      link: [['shop', 'link'], ['sales']],
      path: ['shop', 'link'],
      shown: 'shop/link',
    },
    {
      name: 'in the middle, to the data of another tenant',
      link: [
        ['shop', 'link'],
        ['..', 'bank'],
      ],
      path: ['shop', 'link', 'accounts'],
      shown: 'shop/link',
    },
    {
      name: 'in the middle, out of the root',
      link: [
        ['shop', 'link'],
        ['..', '..', 'secrets'],
      ],
      path: ['shop', 'link', 'deep'],
      shown: 'shop/link',
    },
    {
      name: 'as the last part, to the root of the node',
      link: [['shop', 'link'], ['/']],
      path: ['shop', 'link'],
      shown: 'shop/link',
    },
    {
      name: 'that leads nowhere',
      link: [['shop', 'link'], ['nowhere']],
      path: ['shop', 'link'],
      shown: 'shop/link',
    },
    {
      name: 'to itself',
      link: [['shop', 'link'], ['link']],
      path: ['shop', 'link', 'deep'],
      shown: 'shop/link',
    },
  ])('$name', async ({ link: [from, to], path, shown }) => {
    await symlink(join(...to), at(...from))

    await expect(check(...path)).rejects.toMatchObject({
      code: 'LinkInPath',
      message: `${shown} is a symbolic link, or was replaced by one; remove it, or name the real directory in the option path`,
    })
  })

  test('that replaced the directory after its first check', async () => {
    await check('shop', 'sales', 'deep')
    await rename(at('shop', 'sales'), at('shop', 'old'))
    await symlink(join('..', 'bank', 'accounts'), at('shop', 'sales'))

    await expect(check('shop', 'sales', 'deep')).rejects.toMatchObject({ code: 'LinkInPath' })

    await rm(at('shop', 'sales'))
    await rename(at('shop', 'old'), at('shop', 'sales'))
    expect(await check('shop', 'sales', 'deep')).toMatchObject({ message: 'is empty and can be read' })
  })
})

test.each([
  { name: 'a missing directory', path: ['shop', 'absent'], code: 'NotFound', message: /^shop\/absent does not exist/ },
  { name: 'a missing parent', path: ['absent', 'sales'], code: 'NotFound', message: /^absent does not exist/ },
  {
    name: 'a file',
    path: ['shop', 'sales', 'rows.csv'],
    code: 'NotFound',
    message: /^shop\/sales\/rows.csv is not a directory/,
  },
  {
    name: 'a path out of the root by ".."',
    path: ['shop', '..', '..', 'secrets'],
    code: 'Rejected',
    message: /is not in the root/,
  },
])('$name is an error, and nothing is created', async ({ path, code, message }) => {
  await expect(check(...path)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })

  expect((await readdir(root, { recursive: true })).filter((one) => one.includes('absent'))).toEqual([])
})

test('a root that is not mounted is an error', async () => {
  await expect(openExisting(at('none'), at('none', 'sales'))).rejects.toMatchObject({ code: 'Rejected' })
})

test('".." inside the root is the path that it means', async () => {
  await symlink(join('..', 'bank'), at('shop', 'link'))
  const open = (path: string) => openExisting(root, `${root}${path}`)

  await expect(open('/shop/link/..').then((one) => one.close())).resolves.toBeUndefined()
  await expect(open('/shop/x/../link')).rejects.toMatchObject({ code: 'LinkInPath' })
})
