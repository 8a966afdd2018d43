/** The site of the documentation: its sidebar, and the faults that its build finds. `npm run docs:build` builds it. */
import { globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkSite } from '../docs/.vitepress/check.ts'
import { sidebar } from '../docs/.vitepress/sidebar.ts'
import { makeFolder } from '../src/cli/cli.fake.ts'

interface Item {
  text: string
  link?: string
  items?: Item[]
}

const linksOf = (items: Item[]): string[] =>
  items.flatMap(({ link, items: inner = [] }) => [link ?? '', ...linksOf(inner)])

test('the sidebar leads to every page', () => {
  const links = linksOf(sidebar())
  const pages = globSync('**/*.md', { cwd: 'docs' }).filter((page) => page !== 'index.md')
  expect(pages.filter((page) => !links.includes(`/${page}`))).toEqual([])
})

test('the sidebar has the sections of docs/index.md, and the pages of their folders', () => {
  const sections = sidebar()
  expect(sections.map(({ text }) => text)).toEqual(['Concepts', 'Tutorials', 'Guides', 'Reference', 'For contributors'])
  const systems = sections.flatMap(({ items = [] }) => items).find(({ link }) => link === '/guides/data-systems.md')
  expect(systems?.items?.map(({ link }) => link)).toContain('/guides/data-systems/s3.md')
})

describe('the build fails for', () => {
  const page = '<h1 id="top">Top</h1><a href="/other.html#there">other</a><a href="https://example.org/">web</a>'
  const other =
    '<link rel="stylesheet" href="/style.css"><h2 class="a" id="there">There</h2><a href="./data.json">data</a>'
  const good = {
    'index.html': page,
    'other.html': other,
    'style.css': 'a { src: url(/font.woff2) }',
    'data.json': '{}',
  }

  test.each([
    { name: 'a link to a missing page', file: '<a href="/none.html">', fault: 'new.html: nothing is at /none.html' },
    {
      name: 'a missing anchor',
      file: '<a class="x" href="/other.html#gone">',
      fault: 'new.html: nothing is at /other.html#gone',
    },
    { name: 'a missing anchor of the page itself', file: '<a href="#gone">', fault: 'new.html: nothing is at #gone' },
    {
      name: 'a script of another server',
      file: '<script async src="https://cdn.example/a.js">',
      fault: 'new.html loads https://cdn.example/a.js',
    },
    {
      name: 'a font of another server',
      file: '<style>@import "//fonts.example/x.css"</style>',
      fault: 'new.html loads //fonts.example/x.css',
    },
  ])('$name', ({ file, fault }) => {
    const site = makeFolder({ ...good, 'new.html': file })
    expect(() => checkSite(site)).toThrow(fault)
  })

  test('nothing in a site without faults', () => {
    expect(() => checkSite(makeFolder(good))).not.toThrow()
  })
})
