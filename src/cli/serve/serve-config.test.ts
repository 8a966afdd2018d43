import { mkdirSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeFolder } from '../cli.fake.ts'
import { cacheDirectoryOf } from './serve-config.ts'

const env = { XDG_CACHE_HOME: '/cache' }

test.each([
  { env, want: '/cache/lodestone/' },
  { env: { HOME: '/home/ann' }, want: '/home/ann/.cache/lodestone/' },
  { env: { HOME: '/home/ann', XDG_CACHE_HOME: '' }, want: '/home/ann/.cache/lodestone/' },
  { env: { HOME: '/home/ann', XDG_CACHE_HOME: 'relative' }, want: '/home/ann/.cache/lodestone/' },
  { env: {}, want: join(homedir(), '.cache', 'lodestone/') },
])('the variables $env lead to $want', ({ env, want }) => {
  const directory = cacheDirectoryOf('examples/hub', env)
  expect(directory.startsWith(want)).toBe(true)
  expect(directory.slice(want.length)).toMatch(/^hub-[0-9a-f]{8}$/)
})

test('an error for a user without a home names the variables that choose a directory', () => {
  const home = () => {
    throw new Error('uv_os_homedir returned ENOENT')
  }
  expect(() => cacheDirectoryOf('examples/hub', {}, home)).toThrow(
    'this user has no home directory; set HOME or XDG_CACHE_HOME to a folder that can be written',
  )
})

describe('each folder has its own directory', () => {
  test('and every path to a folder leads to the same one', () => {
    const root = makeFolder()
    mkdirSync(join(root, 'hub'))
    symlinkSync(join(root, 'hub'), join(root, 'link'))
    const [first, ...others] = ['hub', 'hub/', './hub/../hub', 'link'].map((path) =>
      cacheDirectoryOf(join(root, path), env),
    )
    expect(others).toEqual([first, first, first])
  })

  test('also two of the same name', () => {
    expect(cacheDirectoryOf('/a/hub', env)).not.toBe(cacheDirectoryOf('/b/hub', env))
  })

  test.each([
    { folder: '/', want: /^\/cache\/lodestone\/-[0-9a-f]{8}$/ },
    { folder: '/data/my hub; rm', want: /^\/cache\/lodestone\/my_hub__rm-[0-9a-f]{8}$/ },
    { folder: `/${'x'.repeat(250)}`, want: /^\/cache\/lodestone\/x{40}-[0-9a-f]{8}$/ },
  ])('with a usable name for $folder', ({ folder, want }) => {
    expect(cacheDirectoryOf(folder, env)).toMatch(want)
  })
})
