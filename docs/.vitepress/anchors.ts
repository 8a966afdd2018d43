/** The anchors of headings. Pages are read on Git servers too, so the site has the anchors that GitHub makes of headings. */

/** Returns the anchor of a heading, given as text or as Markdown. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}
