/** Fonts from elsewhere: a board for admins tells nobody that it is open. The page has others to fall back on. */
const FOREIGN_FONTS = /<link href="https:\/\/fonts\.[^>]*>/g;

// bull-board shows either no action at all or every one that it knows; what stays is what has the icon of a retry. (The
// server refuses the others in any case.) Its menus hold nothing that the queue could do, it has states that our jobs
// have not, and it shows for how long a job ran, which is not known.
const HIDDEN = [
  'ul[class*="jobActions-"] > li:not(:has(.lucide-refresh-cw))',
  'ul[class*="queueActions-"] > li:not(:has(.lucide-refresh-cw))',
  'button:has(> .lucide-ellipsis-vertical)',
  'ul[class*="statusTabs-"] > li:is([class*="waitingChildren-"], [class*="prioritized-"], [class*="paused-"])',
  'ul[class*="timeline-"] small:has(+ small)',
];

/** The board's page without what comes from elsewhere and without what the queue cannot do. */
export function adaptPage(html: string): string {
  const style = `<style>${HIDDEN.join(', ')} { display: none; }</style>`;
  return html.replaceAll(FOREIGN_FONTS, '').replace('</head>', `${style}</head>`);
}
