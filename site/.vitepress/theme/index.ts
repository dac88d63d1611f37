import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { h } from "vue";
import FrameworkSwitch from "./FrameworkSwitch.vue";
import Landing from "./Landing.vue";
import NotFound from "./NotFound.vue";
import PageFooter from "./PageFooter.vue";
import "./site.css";

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      "doc-before": () => h(FrameworkSwitch),
      "doc-footer-before": () => h(PageFooter),
      "not-found": () => h(NotFound),
    }),
  enhanceApp({ app }) {
    app.component("Landing", Landing);
  },
};
export default theme;
