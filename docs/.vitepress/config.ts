/** The site of the documentation: `npm run docs:build` writes it to build/site, `npm run docs:dev` serves it while pages change. */
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { anchorOf } from './anchors.ts'
import { checkSite } from './check.ts'
import { copySchemas, linkToFiles } from './files.ts'
import { sidebar } from './sidebar.ts'

const pages = sidebar()
const repository = join(import.meta.dirname, '..', '..')

export default defineConfig({
  title: 'Lodestone',
  description:
    'Places workloads where their data is: in the clusters of a Karmada fleet, and on the nodes of a cluster',
  lang: 'en-US',
  outDir: join(repository, 'build', 'site'),
  cacheDir: join(repository, 'node_modules', '.cache', 'vitepress'),
  markdown: { anchor: { slugify: anchorOf }, config: linkToFiles },
  themeConfig: {
    nav: pages.map(({ text, items = [] }) => ({ text, link: items[0]?.link ?? '/' })),
    sidebar: pages,
    outline: [2, 3],
    // The index of the search is a file of the site.
    search: { provider: 'local' },
  },
  buildEnd({ srcDir, outDir }) {
    copySchemas(srcDir, outDir)
    checkSite(outDir)
  },
})
